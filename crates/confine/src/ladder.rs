//! Which backend a machine has: the one place where that is decided.

use zonekeep_policy::policy::BackendChoice;

use crate::plan::Backend;
use crate::report::Offer;

/// Why a backend is not used.
#[derive(Debug)]
pub enum Miss<E> {
    /// It cannot do what is wanted.
    Unavailable(String),
    /// Its sandbox does not stand: the machine does not have it, or the plan cannot be
    /// carried out. The probe tells.
    Unbuilt {
        /// Why, where the machine does not have it.
        missing: String,
        /// Why, where the machine has it.
        failed: E,
    },
    /// Its sandbox stands and enforces less than is wanted.
    Weak(String),
    /// Its sandbox stands, and something else failed.
    Failed(E),
}

/// Why no backend is used.
#[derive(Debug)]
pub enum Unused<E> {
    /// None of them would do: those that were tried, and why not.
    Tried(Vec<(Backend, String)>),
    /// The machine has one of them, and the plan or something else failed.
    Failed(E),
}

/// Returns the backends that a choice stands for, the strongest first.
pub fn candidates(choice: BackendChoice) -> &'static [Backend] {
    match choice {
        BackendChoice::Auto if cfg!(target_os = "macos") => &[Backend::Seatbelt, Backend::None],
        BackendChoice::Auto => {
            &[Backend::Namespaces, Backend::Bubblewrap, Backend::Landlock, Backend::None]
        }
        BackendChoice::Namespaces => &[Backend::Namespaces],
        BackendChoice::Bubblewrap => &[Backend::Bubblewrap],
        BackendChoice::Landlock => &[Backend::Landlock],
        BackendChoice::Seatbelt => &[Backend::Seatbelt],
        BackendChoice::None => &[Backend::None],
    }
}

/// Returns what `attempt` makes with the strongest of the candidates that this
/// machine has. Starting the wanted sandbox is the probe, so that a machine with
/// the first candidate is not probed at all.
///
/// A weaker candidate stands in only for one that the machine does not have.
/// Where `is_available` finds that it has the backend, the plan is at fault, and
/// a weaker backend must not carry it out; where a backend enforces too little,
/// those after it enforce no more.
pub fn descend<T, E>(
    candidates: &[Backend],
    mut is_available: impl FnMut(Backend) -> bool,
    mut attempt: impl FnMut(Backend) -> Result<T, Miss<E>>,
) -> Result<T, Unused<E>> {
    let mut tried = Vec::new();
    for &backend in candidates {
        let (why, last) = match attempt(backend) {
            Ok(value) => return Ok(value),
            Err(Miss::Failed(error)) => return Err(Unused::Failed(error)),
            Err(Miss::Weak(why)) => (why, true),
            Err(Miss::Unavailable(why)) => (why, is_available(backend)),
            Err(Miss::Unbuilt { failed, .. }) if is_available(backend) => {
                return Err(Unused::Failed(failed));
            }
            Err(Miss::Unbuilt { missing, .. }) => (missing, false),
        };
        tried.push((backend, why));
        if last {
            break;
        }
    }
    Err(Unused::Tried(tried))
}

/// Returns the backend that a choice comes to where these are the offers.
pub fn pick(choice: BackendChoice, offers: &[Offer]) -> Option<Backend> {
    let offered = |backend| offers.iter().any(|o| o.backend == backend && o.available);
    let attempt = |backend| match offered(backend) {
        true => Ok(backend),
        false => Err(Miss::<()>::Unavailable(String::new())),
    };
    descend(candidates(choice), offered, attempt).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Backend; 4] =
        [Backend::Namespaces, Backend::Bubblewrap, Backend::Landlock, Backend::None];

    #[test]
    fn a_weaker_backend_stands_in_for_a_missing_one_only() {
        type Attempt = fn(Backend) -> Result<Backend, Miss<&'static str>>;
        let missing: Attempt = |_| Err(Miss::Unavailable("missing".to_owned()));
        let landlock: Attempt = |backend| match backend {
            Backend::Landlock => Ok(backend),
            _ => Err(Miss::Unavailable("missing".to_owned())),
        };
        // What each attempt comes to, which backends the machine has, and the end.
        let unbuilt: Attempt =
            |_| Err(Miss::Unbuilt { missing: "missing".to_owned(), failed: "a path" });
        let cases: [(Attempt, &[Backend], &str); 7] = [
            (Ok, &[], "namespaces"),
            (landlock, &[], "landlock"),
            // The machine has namespaces: it is the plan that fails.
            (missing, &[Backend::Namespaces], "tried namespaces"),
            (unbuilt, &[Backend::Bubblewrap], "failed a path"),
            (unbuilt, &[], "tried namespaces bubblewrap landlock none"),
            (|_| Err(Miss::Weak("weak".to_owned())), &[], "tried namespaces"),
            (|_| Err(Miss::Failed("error")), &[], "failed error"),
        ];
        for (attempt, has, end) in cases {
            let got = match descend(&ALL, |backend| has.contains(&backend), attempt) {
                Ok(backend) => backend.to_string(),
                Err(Unused::Failed(error)) => format!("failed {error}"),
                Err(Unused::Tried(tried)) => {
                    let names: Vec<_> = tried.iter().map(|(b, _)| b.to_string()).collect();
                    format!("tried {}", names.join(" "))
                }
            };
            assert_eq!(got, end);
        }
    }
}
