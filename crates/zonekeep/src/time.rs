//! Points in time as text: RFC 3339, in UTC, to the microsecond.

use std::time::{SystemTime, UNIX_EPOCH};

/// Writes a time out, such as `2026-11-15T03:36:11.123456Z`.
pub fn utc(time: SystemTime) -> String {
    let (seconds, micros) = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (after.as_secs() as i64, after.subsec_micros()),
        Err(error) => {
            let before = error.duration();
            let micros = before.subsec_micros();
            let whole = -(before.as_secs() as i64) - i64::from(micros > 0);
            (whole, if micros > 0 { 1_000_000 - micros } else { 0 })
        }
    };
    let (year, month, day) = date(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400) as u32;
    let mut text = Vec::with_capacity(27);
    digits(&mut text, year.clamp(0, 9999) as u32, 4);
    for (sign, value) in [
        (b'-', month),
        (b'-', day),
        (b'T', second / 3600),
        (b':', second / 60 % 60),
        (b':', second % 60),
    ] {
        text.push(sign);
        digits(&mut text, value, 2);
    }
    text.push(b'.');
    digits(&mut text, micros, 6);
    text.push(b'Z');
    String::from_utf8(text).expect("digits and signs are ASCII")
}

fn digits(text: &mut Vec<u8>, value: u32, width: u32) {
    for place in (0..width).rev() {
        text.push(b'0' + (value / 10u32.pow(place) % 10) as u8);
    }
}

/// Returns year, month and day of a day counted from 1970-01-01.
///
/// Years are counted from March, so that the leap day is the last of a year;
/// 400 of them always have 146,097 days.
fn date(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * from_march + 2) / 5 + 1) as u32;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 } as u32;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_written_as_everybody_writes_them() {
        let cases = [
            (0, 0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399, 999_999, "2000-02-28T23:59:59.999999Z"),
            (951_782_400, 0, "2000-02-29T00:00:00.000000Z"),
            (951_868_800, 1, "2000-03-01T00:00:00.000001Z"),
            (1_794_713_771, 5, "2026-11-15T03:36:11.000005Z"),
            (4_107_542_399, 0, "2100-02-28T23:59:59.000000Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000000Z"),
        ];
        for (seconds, micros, want) in cases {
            let time = UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_micros(micros);
            assert_eq!(utc(time), want);
        }
        assert_eq!(utc(UNIX_EPOCH - Duration::from_micros(1)), "1969-12-31T23:59:59.999999Z");
        assert_eq!(utc(UNIX_EPOCH - Duration::from_secs(86_400)), "1969-12-31T00:00:00.000000Z");
    }
}
