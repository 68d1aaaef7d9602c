# Functions for a cart: lines of "PRICE COUNT", in cents.

total() {
    sum=0
    while read -r price count; do
        sum=$((sum + price * count))
    done
    echo "$sum"
}
