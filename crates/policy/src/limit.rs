//! How much a command may use.
//!
//! The project file, worker files and the flag `--limit` name the limits by the
//! same keys and read their values with the same function, [`Limits::set`].

use serde::{Deserialize, Serialize};

use crate::config::suggest;

/// How much a command may use; `None` is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Milliseconds until the command is ended.
    pub wall_ms: Option<u64>,
    /// Seconds of processor time for one process.
    pub cpu_seconds: Option<u64>,
    /// Bytes of memory, all processes together.
    pub memory: Option<u64>,
    /// Processes and threads at a time.
    pub processes: Option<u64>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// Bytes of the largest file.
    pub file_size: Option<u64>,
    /// Bytes that are printed before the command is ended.
    pub output: Option<u64>,
    /// Bytes in `/tmp`, the private home directory and `/dev/shm` together.
    pub tmp: Option<u64>,
    /// Bytes that all commands of a session receive from the network.
    pub network_in: Option<u64>,
    /// Bytes that all commands of a session send to the network.
    pub network_out: Option<u64>,
    /// Connections that all commands of a session make.
    pub connections: Option<u64>,
}

/// Why a text does not say a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// There is no limit of that name.
    #[error("there is no limit '{key}'")]
    Unknown {
        /// The name.
        key: String,
    },
    /// The value is not of the kind that the limit has.
    #[error("the limit '{key}' cannot be '{value}'")]
    Value {
        /// The limit.
        key: &'static str,
        /// The value.
        value: String,
    },
    /// Nothing could run under a limit of zero.
    #[error("the limit '{key}' cannot be zero")]
    Zero {
        /// The limit.
        key: &'static str,
    },
    /// The number is larger than any machine.
    #[error("the limit '{key}' cannot be as large as '{value}'")]
    TooLarge {
        /// The limit.
        key: &'static str,
        /// The value.
        value: String,
    },
    /// A flag names a limit without a value.
    #[error("'{text}' is not a limit with its value")]
    NoValue {
        /// The part of the flag.
        text: String,
    },
    /// A flag names a limit twice.
    #[error("the limit '{key}' is set twice")]
    Twice {
        /// The limit.
        key: &'static str,
    },
}

/// Says what `none` means for a limit.
fn none(key: &str) -> &'static str {
    match key {
        // Without any, the machine would go down with the command.
        "memory" => "none for three quarters of the machine's",
        _ => "none for no limit",
    }
}

impl LimitError {
    /// Returns what to write instead.
    pub fn hint(&self) -> String {
        match self {
            LimitError::Unknown { key } => suggest::hint(key, "limits", &KEYS.map(|key| key.name)),
            LimitError::Value { key, .. } | LimitError::TooLarge { key, .. } => {
                let kind = find(key).map(|key| key.kind);
                format!("write {}, or {}", kind.unwrap_or(Kind::Count).example(), none(key))
            }
            LimitError::Zero { key } => format!("write {}", none(key)),
            LimitError::NoValue { .. } => {
                "write limits with commas between them, such as memory=512M,processes=256"
                    .to_owned()
            }
            LimitError::Twice { .. } => "remove one of the two".to_owned(),
        }
    }
}

/// What the value of a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Millis,
    Seconds,
    Bytes,
    Count,
}

impl Kind {
    fn example(self) -> &'static str {
        match self {
            Kind::Millis | Kind::Seconds => "a time such as 30s, 5m or 1h",
            Kind::Bytes => "a size such as 512M or 2G",
            Kind::Count => "a whole number",
        }
    }
}

/// A limit's name, other names for it, and what it counts.
struct Key {
    name: &'static str,
    aliases: &'static [&'static str],
    kind: Kind,
    field: fn(&mut Limits) -> &mut Option<u64>,
}

/// The limits, in the order in which they are shown.
const KEYS: [Key; 11] = [
    key("time", &["wall_time", "timeout"], Kind::Millis, |l| &mut l.wall_ms),
    key("cpu_time", &[], Kind::Seconds, |l| &mut l.cpu_seconds),
    key("memory", &[], Kind::Bytes, |l| &mut l.memory),
    key("processes", &[], Kind::Count, |l| &mut l.processes),
    key("open_files", &[], Kind::Count, |l| &mut l.open_files),
    key("file_size", &[], Kind::Bytes, |l| &mut l.file_size),
    key("output", &[], Kind::Bytes, |l| &mut l.output),
    key("tmp", &[], Kind::Bytes, |l| &mut l.tmp),
    key("network_in", &[], Kind::Bytes, |l| &mut l.network_in),
    key("network_out", &[], Kind::Bytes, |l| &mut l.network_out),
    key("connections", &[], Kind::Count, |l| &mut l.connections),
];

const fn key(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: Kind,
    field: fn(&mut Limits) -> &mut Option<u64>,
) -> Key {
    Key { name, aliases, kind, field }
}

fn find(name: &str) -> Option<&'static Key> {
    const { &KEYS }.iter().find(|key| key.name == name || key.aliases.contains(&name))
}

/// Returns the name under which a limit is shown, for its name or another one.
pub(crate) fn canonical(name: &str) -> Option<&'static str> {
    find(name).map(|key| key.name)
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The largest value: what lies above means "no limit" to some systems.
const MAX: u64 = i64::MAX as u64;

impl Default for Limits {
    /// Returns the limits of a project that says nothing: 1024 processes, 4096
    /// open files, files of 8 GiB, 64 MiB of output and 1 GiB of temporary
    /// files; no limit on time.
    ///
    /// `memory` is left open here because it depends on the machine: the
    /// `zonekeep` crate fills in three quarters of its memory when a command
    /// runs.
    fn default() -> Self {
        Limits {
            processes: Some(1024),
            open_files: Some(4096),
            file_size: Some(8 * GIB),
            output: Some(64 * MIB),
            tmp: Some(GIB),
            ..Limits::none()
        }
    }
}

impl Limits {
    /// Returns limits that limit nothing.
    pub fn none() -> Self {
        Limits {
            wall_ms: None,
            cpu_seconds: None,
            memory: None,
            processes: None,
            open_files: None,
            file_size: None,
            output: None,
            tmp: None,
            network_in: None,
            network_out: None,
            connections: None,
        }
    }

    /// Returns the limits of these names, and none of the others.
    pub(crate) fn only<'a>(&self, names: impl Iterator<Item = &'a str> + Clone) -> Limits {
        let (mut all, mut kept) = (self.clone(), Limits::none());
        for key in KEYS.iter().filter(|key| names.clone().any(|name| name == key.name)) {
            *(key.field)(&mut kept) = *(key.field)(&mut all);
        }
        kept
    }

    /// Returns the smaller of each limit.
    pub fn tightest(&self, other: &Limits) -> Limits {
        let mut tightest = self.clone();
        let mut other = other.clone();
        for key in &KEYS {
            let (held, wanted) = ((key.field)(&mut tightest), (key.field)(&mut other));
            *held = match (*held, *wanted) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        tightest
    }

    /// Returns the limits that let a command use more than `usual` does, each with its
    /// value in words; `None` is no limit.
    pub fn above(&self, usual: &Limits) -> Vec<(&'static str, Option<String>)> {
        let (mut own, mut usual) = (self.clone(), usual.clone());
        let above = |key: &Key| match (*(key.field)(&mut own), *(key.field)(&mut usual)) {
            (_, None) => None,
            (None, Some(_)) => Some((key.name, None)),
            (Some(own), Some(usual)) => {
                (own > usual).then(|| (key.name, Some(show(key.kind, own))))
            }
        };
        KEYS.iter().filter_map(above).collect()
    }

    /// Sets one limit from its name and value as somebody wrote them.
    ///
    /// Times are `500ms`, `30s`, `5m` or `1h`, and seconds without a unit; sizes
    /// are bytes, or `K`, `M`, `G` and `T` for powers of 1024, with or without
    /// `B` or `iB`; `none` is no limit. Processor time is rounded up to seconds.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), LimitError> {
        let key = find(key).ok_or_else(|| LimitError::Unknown { key: key.to_owned() })?;
        *(key.field)(self) = match value.trim() {
            "none" => None,
            text => Some(parse(key, text)?),
        };
        Ok(())
    }

    /// Sets the limits that a flag lists, such as `memory=512M,processes=256`.
    /// Where one is wrong, none is set.
    pub fn parse_flag(&mut self, text: &str) -> Result<(), LimitError> {
        let mut limits = self.clone();
        let mut seen: Vec<&str> = Vec::new();
        for part in text.split(',') {
            let no_value = || LimitError::NoValue { text: part.trim().to_owned() };
            let (key, value) = part.split_once('=').ok_or_else(no_value)?;
            let key = key.trim();
            limits.set(key, value)?;
            if let Some(key) = canonical(key) {
                if seen.contains(&key) {
                    return Err(LimitError::Twice { key });
                }
                seen.push(key);
            }
        }
        *self = limits;
        Ok(())
    }

    /// Returns the limits that limit something, each with its value in words,
    /// such as `("memory", "512 MiB")`.
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        let mut limits = self.clone();
        let shown = |key: &Key| {
            let value = (*(key.field)(&mut limits))?;
            Some((key.name, show(key.kind, value)))
        };
        KEYS.iter().filter_map(shown).collect()
    }
}

fn parse(key: &Key, text: &str) -> Result<u64, LimitError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start();
    let bad = || LimitError::Value { key: key.name, value: text.to_owned() };
    let too_large = || LimitError::TooLarge { key: key.name, value: text.to_owned() };
    if number.is_empty() {
        return Err(bad());
    }
    let factor = match key.kind {
        Kind::Millis | Kind::Seconds => time_unit(unit),
        Kind::Bytes => size_unit(unit),
        Kind::Count => unit.is_empty().then_some(1),
    };
    let factor = factor.ok_or_else(bad)?;
    let number: u64 = number.parse().map_err(|_| too_large())?;
    let mut value = number.checked_mul(factor).ok_or_else(too_large)?;
    if key.kind == Kind::Seconds {
        value = value.div_ceil(1000);
    }
    match value {
        0 => Err(LimitError::Zero { key: key.name }),
        value if value > MAX => Err(too_large()),
        value => Ok(value),
    }
}

/// Reads a time as somebody wrote it, in milliseconds; `None` for `none`.
pub(crate) fn time(text: &str) -> Result<Option<u64>, LimitError> {
    let mut limits = Limits::none();
    limits.set("time", text)?;
    Ok(limits.wall_ms)
}

/// Returns how many milliseconds a unit of time has.
fn time_unit(unit: &str) -> Option<u64> {
    match unit {
        "ms" => Some(1),
        "" | "s" => Some(1000),
        "m" => Some(60 * 1000),
        "h" => Some(60 * 60 * 1000),
        _ => None,
    }
}

/// Returns how many bytes a unit of size has.
fn size_unit(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    let letter = unit.strip_suffix("ib").filter(|letter| !letter.is_empty());
    match letter.or_else(|| unit.strip_suffix('b')).unwrap_or(&unit) {
        "" => Some(1),
        "k" => Some(1 << 10),
        "m" => Some(MIB),
        "g" => Some(GIB),
        "t" => Some(1 << 40),
        _ => None,
    }
}

/// Writes a value in the largest unit that leaves it whole.
fn show(kind: Kind, value: u64) -> String {
    let units: &[(u64, &str)] = match kind {
        Kind::Count => return value.to_string(),
        Kind::Millis => &[(60 * 60 * 1000, "h"), (60 * 1000, "min"), (1000, "s"), (1, "ms")],
        Kind::Seconds => &[(60 * 60, "h"), (60, "min"), (1, "s")],
        Kind::Bytes => {
            &[(1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (1 << 10, "KiB"), (1, "bytes")]
        }
    };
    let whole = units.iter().find(|(size, _)| value.is_multiple_of(*size));
    let (size, unit) = whole.unwrap_or(&(1, ""));
    format!("{} {unit}", value / size)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(key: &str, value: &str) -> Result<Vec<(&'static str, String)>, LimitError> {
        let mut limits = Limits::none();
        limits.set(key, value).map(|()| limits.entries())
    }

    #[test]
    fn values_are_read_and_shown() {
        let cases = [
            ("time", "30s", "time", "30 s"),
            ("wall_time", "5m", "time", "5 min"),
            ("timeout", "1h", "time", "1 h"),
            ("time", "500ms", "time", "500 ms"),
            ("time", "90", "time", "90 s"),
            ("cpu_time", "2", "cpu_time", "2 s"),
            ("cpu_time", "1500ms", "cpu_time", "2 s"),
            ("memory", "512M", "memory", "512 MiB"),
            ("memory", "512 MiB", "memory", "512 MiB"),
            ("memory", " 2gb ", "memory", "2 GiB"),
            ("memory", "1024", "memory", "1 KiB"),
            ("memory", "1000B", "memory", "1000 bytes"),
            ("tmp", "1T", "tmp", "1 TiB"),
            ("file_size", "200K", "file_size", "200 KiB"),
            ("output", "1536M", "output", "1536 MiB"),
            ("processes", "256", "processes", "256"),
            ("open_files", "64", "open_files", "64"),
            ("network_in", "1G", "network_in", "1 GiB"),
            ("network_out", "100M", "network_out", "100 MiB"),
            ("connections", "1000", "connections", "1000"),
        ];
        for (key, value, name, shown) in cases {
            assert_eq!(set(key, value), Ok(vec![(name, shown.to_owned())]), "{key}={value}");
        }
        for key in KEYS {
            assert_eq!(set(key.name, "none"), Ok(vec![]), "{}", key.name);
        }
    }

    #[test]
    fn what_is_no_limit_is_refused_with_a_hint() {
        let cases = [
            ("memry", "1", "there is no limit 'memry'", "did you mean 'memory'? limits: time,"),
            ("Memory", "1", "there is no limit 'Memory'", "did you mean 'memory'?"),
            ("memory", "", "the limit 'memory' cannot be ''", "write a size such as"),
            ("memory", "lots", "the limit 'memory' cannot be 'lots'", "write a size such as"),
            ("memory", "1.5G", "the limit 'memory' cannot be '1.5G'", "write a size such as"),
            ("memory", "-1", "the limit 'memory' cannot be '-1'", "write a size such as"),
            ("memory", "5s", "the limit 'memory' cannot be '5s'", "write a size such as"),
            ("memory", "5iB", "the limit 'memory' cannot be '5iB'", "write a size such as"),
            ("memory", "0", "the limit 'memory' cannot be zero", "write none"),
            ("memory", "0G", "the limit 'memory' cannot be zero", "write none"),
            ("time", "0ms", "the limit 'time' cannot be zero", "write none"),
            ("timeout", "5M", "the limit 'time' cannot be '5M'", "write a time such as"),
            ("time", "1d", "the limit 'time' cannot be '1d'", "write a time such as"),
            ("processes", "1K", "the limit 'processes' cannot be '1K'", "write a whole number"),
            ("processes", "1 2", "the limit 'processes' cannot be '1 2'", "write a whole number"),
            (
                "memory",
                "8388608T",
                "the limit 'memory' cannot be as large as '8388608T'",
                "write a size",
            ),
            (
                "memory",
                "99999999999999999999",
                "the limit 'memory' cannot be as large as '99999999999999999999'",
                "write a size",
            ),
            (
                "processes",
                "18446744073709551615",
                "the limit 'processes' cannot be as large as '18446744073709551615'",
                "write a whole",
            ),
        ];
        for (key, value, message, hint) in cases {
            let error = set(key, value).unwrap_err();
            assert_eq!(error.to_string(), message, "{key}={value}");
            assert!(error.hint().starts_with(hint), "{key}={value}: {}", error.hint());
        }
    }

    #[test]
    fn a_flag_sets_several_or_none() {
        let mut limits = Limits::default();
        limits.parse_flag("memory=512M, processes=256,tmp=none").unwrap();
        assert_eq!(
            (limits.memory, limits.processes, limits.tmp),
            (Some(512 * MIB), Some(256), None)
        );
        assert_eq!(limits.open_files, Some(4096));
        let cases = [
            ("", "'' is not a limit with its value"),
            ("memory", "'memory' is not a limit with its value"),
            ("memory=1G,", "'' is not a limit with its value"),
            ("memory=", "the limit 'memory' cannot be ''"),
            ("output=1,nothing=1", "there is no limit 'nothing'"),
            ("time=1,timeout=2", "the limit 'time' is set twice"),
        ];
        for (text, message) in cases {
            let before = limits.clone();
            assert_eq!(limits.parse_flag(text).unwrap_err().to_string(), message, "{text}");
            assert_eq!(limits, before, "{text}");
        }
    }

    #[test]
    fn the_defaults_are_the_documented_ones() {
        let want = [
            ("processes", "1024"),
            ("open_files", "4096"),
            ("file_size", "8 GiB"),
            ("output", "64 MiB"),
            ("tmp", "1 GiB"),
        ];
        let entries = Limits::default().entries();
        let entries: Vec<(&str, &str)> = entries.iter().map(|(k, v)| (*k, v.as_str())).collect();
        assert_eq!(entries, want);
    }

    #[test]
    fn limits_above_the_usual_ones_are_found() {
        let usual = Limits::default();
        assert_eq!(usual.above(&usual), []);
        assert_eq!(Limits::none().tightest(&usual).above(&usual), []);
        let mut raised = usual.clone();
        raised.parse_flag("processes=200000,tmp=none,output=1M,time=1h,memory=1T").unwrap();
        let want = [("processes", Some("200000".to_owned())), ("tmp", None)];
        assert_eq!(raised.above(&usual), want);
        let with_memory = Limits { memory: Some(GIB), ..usual };
        assert_eq!(raised.above(&with_memory)[0], ("memory", Some("1 TiB".to_owned())));
    }

    proptest! {
        #[test]
        fn the_tightest_is_no_looser_than_either(
            a in prop::collection::vec(prop::option::of(1u64..9), 11),
            b in prop::collection::vec(prop::option::of(1u64..9), 11),
        ) {
            let limits = |values: &[Option<u64>]| {
                let mut limits = Limits::none();
                for (key, value) in KEYS.iter().zip(values) {
                    *(key.field)(&mut limits) = *value;
                }
                limits
            };
            let mut tightest = limits(&a).tightest(&limits(&b));
            for (key, (a, b)) in KEYS.iter().zip(a.iter().zip(&b)) {
                let want = [*a, *b].into_iter().flatten().min();
                prop_assert_eq!(*(key.field)(&mut tightest), want, "{}", key.name);
            }
        }

        #[test]
        fn any_text_is_read_or_refused(key in "[a-z_]{0,9}", value in "\\PC{0,12}") {
            let mut limits = Limits::none();
            if let Err(error) = limits.set(&key, &value) {
                prop_assert!(!error.hint().is_empty());
            }
            for key in KEYS {
                let _ = limits.set(key.name, &value);
            }
        }
    }
}
