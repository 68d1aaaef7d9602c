//! The command line of the runner: which attacks, where, and how to report them.

use std::collections::BTreeMap;

use zonekeep_confine::plan::Backend;

use crate::attack::Attack;
use crate::attacks;
use crate::rule;

/// The arguments; other flags of the usual test harness are ignored.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) list: bool,
    /// Print the words of every attack, and not only of those that failed.
    pub(crate) everything: bool,
    /// Print one JSON object per case, and leave the judgement to the reader:
    /// every attack then runs on every backend, claimed or not.
    pub(crate) json: bool,
    /// Attack as the user of this process only.
    pub(crate) this_user: bool,
    /// Leave out the controls.
    pub(crate) no_control: bool,
    /// Run only a selection of about this many attacks.
    pick: Option<usize>,
    /// Run on these backends; empty is all.
    backends: Vec<Backend>,
    exact: bool,
    names: Vec<String>,
    skip: Vec<String>,
}

impl Options {
    pub(crate) fn read(args: &[&str]) -> Options {
        let mut options = Options::default();
        let mut args = args.iter();
        while let Some(&arg) = args.next() {
            match arg {
                "--list" => options.list = true,
                "--nocapture" => options.everything = true,
                "--json" => options.json = true,
                "--this-user" => options.this_user = true,
                "--no-control" => options.no_control = true,
                "--pick" => {
                    let count = args.next().and_then(|count| count.parse().ok());
                    options.pick = Some(count.expect("--pick takes a number"));
                }
                "--backend" => {
                    let backend = args.next().and_then(|name| Backend::named(name));
                    options.backends.push(backend.expect("--backend takes a backend's name"));
                }
                "--exact" => options.exact = true,
                "--skip" => options.skip.extend(args.next().map(|name| (*name).to_owned())),
                "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => {
                    args.next();
                }
                _ if arg.starts_with('-') => {}
                _ => options.names.push(arg.to_owned()),
            }
        }
        options
    }

    /// Returns the attacks to run, in the order of the corpus.
    pub(crate) fn attacks(&self) -> Vec<&'static Attack> {
        let wanted: Vec<_> = attacks::all().filter(|attack| self.wants(attack.name)).collect();
        match self.pick {
            Some(count) => pick(&wanted, count),
            None => wanted,
        }
    }

    /// Returns whether the attack runs on a backend at all.
    pub(crate) fn runs_on(&self, attack: &Attack, is_root: bool, backend: Backend) -> bool {
        let chosen = self.backends.is_empty() || self.backends.contains(&backend);
        chosen && (self.json || attack.is_claimed_by(backend, is_root))
    }

    fn wants(&self, name: &str) -> bool {
        let fits = |part: &String| if self.exact { name == part } else { name.contains(part) };
        (self.names.is_empty() || self.names.iter().any(fits)) && !self.skip.iter().any(fits)
    }
}

/// Returns `count` attacks, the same on every run, and a tenth as many pieces of
/// ordinary work: at least one for each rule of each group, the rest by size.
fn pick(wanted: &[&'static Attack], count: usize) -> Vec<&'static Attack> {
    let mut buckets: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    let mut work = Vec::new();
    // An attack that no backend claims to hold is left out.
    for (number, attack) in wanted.iter().enumerate().filter(|(_, a)| !a.held_by.is_empty()) {
        match rule::of(attack.name).expect("checked before") {
            rule::WORK => work.push(number),
            rule => {
                let group = attack.name.split('/').next().unwrap_or_default();
                buckets.entry((group, rule)).or_default().push(number);
            }
        }
    }
    let total: usize = buckets.values().map(Vec::len).sum();
    // One attack for each bucket; then the bucket that is furthest below its
    // proportion gets the next.
    let mut shares: Vec<(usize, &Vec<usize>)> =
        buckets.values().map(|bucket| (1, bucket)).collect();
    while shares.iter().map(|(share, _)| share).sum::<usize>() < count.min(total) {
        let behind = |(share, bucket): &(usize, &Vec<usize>)| {
            (bucket.len() * count) as i64 - (share * total) as i64
        };
        let unfilled = (0..shares.len()).filter(|&n| shares[n].0 < shares[n].1.len());
        let Some(next) = unfilled.max_by_key(|&n| behind(&shares[n])) else { break };
        shares[next].0 += 1;
    }
    shares.push(((count / 10).clamp(1, work.len().max(1)), &work));
    let mut picked: Vec<usize> = shares
        .iter()
        .flat_map(|(share, bucket)| {
            (0..(*share).min(bucket.len()))
                .map(move |n| bucket[(2 * n + 1) * bucket.len() / (2 * share)])
        })
        .collect();
    picked.sort_unstable();
    picked.into_iter().map(|number| wanted[number]).collect()
}
