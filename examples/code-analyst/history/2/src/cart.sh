# Functions for a cart: lines of "PRICE COUNT", in cents.

total() {
    sum=0
    while read -r price count; do
        sum=$((sum + price * count))
    done
    echo "$sum"
}

# discount AMOUNT PERCENT
discount() {
    echo $(($1 - $1 / 100 * $2))
}
