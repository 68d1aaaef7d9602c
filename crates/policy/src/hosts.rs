//! What a worker's commands may reach, out of what its caller's may.

use crate::grant::ExceedsParent;
use crate::policy::Network;
use crate::source::Ruled;

/// Returns what a child gets that asks for `wanted`, where its parent has `held`.
///
/// Names that the parent refuses stay refused.
pub(crate) fn narrow(held: &Network, wanted: &Network) -> Result<Network, ExceedsParent> {
    match (held, wanted) {
        (_, Network::Off) => Ok(Network::Off),
        (Network::On, wanted) => Ok(wanted.clone()),
        (_, Network::On) => Err(ExceedsParent::Network),
        (Network::Off, Network::Hosts { allow, presets, .. }) => {
            match (allow.first(), presets.first()) {
                (Some(host), _) => Err(ExceedsParent::Host { host: host.value.clone() }),
                (None, Some(preset)) => Err(ExceedsParent::Preset { preset: preset.value.clone() }),
                (None, None) => Ok(Network::Off),
            }
        }
        (
            Network::Hosts { allow: held, deny: refused, presets: sets },
            Network::Hosts { allow, deny, presets },
        ) => {
            let covered = |host: &str| held.iter().any(|held| covers(&held.value, host));
            if let Some(host) = allow.iter().find(|host| !covered(&host.value)) {
                return Err(ExceedsParent::Host { host: host.value.clone() });
            }
            let has = |preset: &str| sets.iter().any(|set| set.value == preset);
            if let Some(preset) = presets.iter().find(|preset| !has(&preset.value)) {
                return Err(ExceedsParent::Preset { preset: preset.value.clone() });
            }
            let mut all = refused.clone();
            all.extend(deny.iter().filter(|host| !is_listed(refused, host)).cloned());
            Ok(Network::Hosts { allow: allow.clone(), deny: all, presets: presets.clone() })
        }
    }
}

/// Returns what both of two give.
pub(crate) fn meet(a: &Network, b: &Network) -> Network {
    match (a, b) {
        (Network::Off, _) | (_, Network::Off) => Network::Off,
        (Network::On, other) | (other, Network::On) => other.clone(),
        (
            Network::Hosts { allow, deny, presets },
            Network::Hosts { allow: others, deny: refused, presets: sets },
        ) => {
            let within = |hosts: &[Ruled<String>], of: &[Ruled<String>]| -> Vec<Ruled<String>> {
                let covered = |host: &str| of.iter().any(|held| covers(&held.value, host));
                hosts.iter().filter(|host| covered(&host.value)).cloned().collect()
            };
            let presets: Vec<_> =
                presets.iter().filter(|preset| is_listed(sets, preset)).cloned().collect();
            let allow = union(&within(allow, others), &within(others, allow));
            if allow.is_empty() && presets.is_empty() {
                return Network::Off;
            }
            Network::Hosts { allow, deny: union(deny, refused), presets }
        }
    }
}

/// Returns what either of two gives; what one refuses stays refused, unless the
/// other gives everything.
pub(crate) fn join(a: &Network, b: &Network) -> Network {
    match (a, b) {
        (Network::On, _) | (_, Network::On) => Network::On,
        (Network::Off, other) | (other, Network::Off) => other.clone(),
        (
            Network::Hosts { allow, deny, presets },
            Network::Hosts { allow: others, deny: refused, presets: sets },
        ) => Network::Hosts {
            allow: union(allow, others),
            deny: union(deny, refused),
            presets: union(presets, sets),
        },
    }
}

/// Returns the names that a network refuses.
pub(crate) fn refused(network: &Network) -> &[Ruled<String>] {
    match network {
        Network::Hosts { deny, .. } => deny,
        Network::Off | Network::On => &[],
    }
}

/// Returns a network that refuses more names.
pub(crate) fn without(network: Network, refused: &[Ruled<String>]) -> Network {
    match network {
        Network::Hosts { allow, deny, presets } => {
            Network::Hosts { allow, deny: union(&deny, refused), presets }
        }
        all_or_nothing => all_or_nothing,
    }
}

/// Returns all names of two lists, each once.
pub(crate) fn union(a: &[Ruled<String>], b: &[Ruled<String>]) -> Vec<Ruled<String>> {
    let mut all = a.to_vec();
    all.extend(b.iter().filter(|host| !is_listed(a, host)).cloned());
    all
}

fn is_listed(hosts: &[Ruled<String>], host: &Ruled<String>) -> bool {
    hosts.iter().any(|listed| listed.value == host.value)
}

/// Returns whether one allowed name stands for all that another stands for:
/// `*.example.com` for `a.example.com` and `*.a.example.com`, and each for itself.
fn covers(held: &str, wanted: &str) -> bool {
    let below = held.strip_prefix('*').filter(|rest| rest.starts_with('.'));
    held == wanted
        || below.is_some_and(|below| wanted.len() > below.len() && wanted.ends_with(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `on`, `off`, or hosts: `a`, `-a` for a refused one, `@a` for a preset.
    fn network(text: &str) -> Network {
        let named = |prefix: char| {
            let words = text.split_whitespace().filter(move |word| word.starts_with(prefix));
            words.map(|word| Ruled::default_of(word[1..].to_owned())).collect()
        };
        let plain = |word: &&str| !word.starts_with(['-', '@']);
        let allow = text.split_whitespace().filter(plain);
        match text {
            "on" => Network::On,
            "off" => Network::Off,
            _ => Network::Hosts {
                allow: allow.map(|word| Ruled::default_of(word.to_owned())).collect(),
                deny: named('-'),
                presets: named('@'),
            },
        }
    }

    #[test]
    fn a_child_reaches_what_it_names_and_never_more_than_its_parent() {
        let no_network = "Child requests network access but parent doesn't have it";
        let no_b = "Child requests host 'b.org' but parent doesn't have it";
        let cases = [
            // parent, child, what the child gets
            ("on", "on", Ok("on")),
            ("on", "off", Ok("off")),
            ("on", "a.org -b.org @cargo", Ok("a.org -b.org @cargo")),
            ("off", "off", Ok("off")),
            ("off", "on", Err(no_network)),
            ("off", "b.org", Err(no_b)),
            ("off", "-b.org", Ok("off")),
            ("off", "@npm", Err("Child requests the hosts of 'npm' but parent doesn't have them")),
            ("a.org", "on", Err(no_network)),
            ("a.org", "off", Ok("off")),
            ("a.org b.org", "b.org", Ok("b.org")),
            ("a.org", "b.org", Err(no_b)),
            ("*.org", "b.org", Ok("b.org")),
            ("*.b.org", "b.org", Err(no_b)),
            ("*.b.org", "a.b.org *.b.org *.a.b.org", Ok("a.b.org *.b.org *.a.b.org")),
            ("a.org", "*.a.org", Err("Child requests host '*.a.org' but parent doesn't have it")),
            ("*.a.org", "xa.org", Err("Child requests host 'xa.org' but parent doesn't have it")),
            ("*.org -b.org", "a.org -c.org -b.org", Ok("a.org -b.org -c.org")),
            ("*.org -b.org", "b.org", Ok("b.org -b.org")),
            ("@cargo", "@cargo", Ok("@cargo")),
            (
                "@cargo",
                "@npm",
                Err("Child requests the hosts of 'npm' but parent doesn't have them"),
            ),
        ];
        for (held, wanted, child) in cases {
            let got = narrow(&network(held), &network(wanted)).map_err(|error| error.to_string());
            assert_eq!(got, child.map(network).map_err(str::to_owned), "{held} / {wanted}");
        }
    }
}
