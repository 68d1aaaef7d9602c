//! Opening a model by its name.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::remote::{Provider, Remote};
use super::scripted::Scripted;
use super::{Model, ModelError};

/// Where the values of environment variables come from.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The longest name of a model.
const MAX_NAME: usize = 200;

/// What models are opened with.
#[derive(Clone)]
pub struct Settings {
    /// The project directory, where files of replies are.
    pub project_dir: PathBuf,
    /// Where keys and addresses come from.
    pub env: Environment,
    /// How long it may take until somebody answers the door.
    pub connect: Duration,
    /// How long a model may say nothing.
    pub idle: Duration,
    /// How often a request is made again.
    pub retries: u32,
    /// How long is waited before the first time that a request is made again;
    /// then twice as long each time.
    pub backoff: Duration,
}

impl Settings {
    /// Returns the usual settings, with the environment of this process.
    pub fn new(project_dir: impl Into<PathBuf>) -> Self {
        Settings {
            project_dir: project_dir.into(),
            env: Arc::new(|name| std::env::var(name).ok()),
            connect: Duration::from_secs(20),
            idle: Duration::from_secs(120),
            retries: 4,
            backoff: Duration::from_millis(500),
        }
    }

    /// Returns a variable; one that is empty is not set.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        let value = (self.env)(name)?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    }
}

// The environment holds keys.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("project_dir", &self.project_dir)
            .field("connect", &self.connect)
            .field("idle", &self.idle)
            .field("retries", &self.retries)
            .field("backoff", &self.backoff)
            .finish_non_exhaustive()
    }
}

/// Opens the model with the name `spec`: `anthropic:NAME`, `openai:NAME`,
/// `gemini:NAME`, `ollama:NAME` or `scripted:FILE`. Nobody is asked yet.
///
/// Keys and addresses come from the environment only: a project's files could
/// send the user's key anywhere.
pub fn open(spec: &str, settings: &Settings) -> Result<Arc<dyn Model>, ModelError> {
    Ok(match named(spec)? {
        (None, name) => Arc::new(Scripted::open(spec, name, settings)?),
        (Some(provider), name) => Arc::new(Remote::open(spec, provider, name, settings)?),
    })
}

/// Says why no model can have the name `spec`. Whether there is one, or a key for it,
/// is not looked at.
pub fn check_name(spec: &str) -> Result<(), ModelError> {
    named(spec).map(|_| ())
}

/// Returns the provider in a model's name, or `None` for replies from a file, and the
/// name behind the colon.
fn named(spec: &str) -> Result<(Option<Provider>, &str), ModelError> {
    let unknown = |why: &str| ModelError::Unknown { name: shown(spec), why: why.to_owned() };
    let Some((provider, name)) = spec.split_once(':') else {
        return Err(unknown(
            "write PROVIDER:NAME, where PROVIDER is anthropic, openai, gemini, ollama or scripted",
        ));
    };
    if name.is_empty() {
        return Err(unknown("the name after the colon is missing"));
    }
    if provider == "scripted" {
        return Ok((None, name));
    }
    let Some(provider) = Provider::ALL.into_iter().find(|known| known.prefix() == provider) else {
        return Err(unknown("its provider is not anthropic, openai, gemini, ollama or scripted"));
    };
    // The name becomes a part of addresses, and `::` means something to the library.
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-/:@+".contains(c);
    if name.len() > MAX_NAME
        || !name.chars().all(fits)
        || name.contains("::")
        || name.split('/').any(|part| part.is_empty() || part.starts_with('.'))
    {
        return Err(unknown("such a name no model has"));
    }
    Ok((Some(provider), name))
}

/// Returns the names of all environment variables that hold keys of providers.
pub fn key_variables() -> &'static [&'static str] {
    &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OLLAMA_API_KEY"]
}

/// Returns a name that can be shown, however it was written.
fn shown(spec: &str) -> String {
    spec.chars().take(MAX_NAME).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &'static [(&str, &str)]) -> Settings {
        let env = move |name: &str| {
            let found = variables.iter().find(|(have, _)| *have == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Settings { env: Arc::new(env), ..Settings::new("/nowhere") }
    }

    #[test]
    fn a_name_without_a_known_provider_is_refused() {
        for spec in [
            "",
            "gpt",
            "gpt:4",
            "openai:",
            "openai:a b",
            "openai:a::b",
            "gemini:../x",
            "ollama:a//b",
        ] {
            let error = open(spec, &settings(&[("OPENAI_API_KEY", "k")])).err();
            assert!(matches!(error, Some(ModelError::Unknown { .. })), "{spec}: {error:?}");
        }
    }

    #[test]
    fn keys_are_needed_where_somebody_wants_one() {
        type Variables = &'static [(&'static str, &'static str)];
        let cases: [(&str, Variables, Result<(), &str>); 13] = [
            ("anthropic:a", &[], Err("ANTHROPIC_API_KEY")),
            ("anthropic:a", &[("ANTHROPIC_API_KEY", "  ")], Err("ANTHROPIC_API_KEY")),
            ("anthropic:a", &[("ANTHROPIC_API_KEY", "k\n")], Ok(())),
            ("anthropic:a", &[("ANTHROPIC_BASE_URL", "http://[::1]:1")], Err("ANTHROPIC_API_KEY")),
            ("openai:a", &[], Err("OPENAI_API_KEY")),
            ("openai:a", &[("OPENAI_API_KEY", "k")], Ok(())),
            ("openai:a/b-1.5:x", &[("OPENAI_BASE_URL", "http://localhost:8000/v1")], Ok(())),
            ("gemini:a", &[], Err("GEMINI_API_KEY")),
            ("gemini:a", &[("GEMINI_API_KEY", "k")], Ok(())),
            ("gemini:a", &[("GOOGLE_API_KEY", "k")], Ok(())),
            ("ollama:a:7b", &[], Ok(())),
            ("ollama:a:7b", &[("OLLAMA_HOST", "127.0.0.1")], Ok(())),
            (
                "ollama:a:7b",
                &[("OLLAMA_API_KEY", "k"), ("OLLAMA_HOST", "https://ollama.com")],
                Ok(()),
            ),
        ];
        for (spec, variables, want) in cases {
            match (open(spec, &settings(variables)), want) {
                (Ok(model), Ok(())) => assert_eq!(model.name(), spec),
                (Err(ModelError::NoKey { variable, .. }), Err(want)) => assert_eq!(variable, want),
                (other, _) => panic!("{spec} {variables:?}: {:?}", other.err()),
            }
        }
    }

    #[test]
    fn addresses_are_https_or_on_this_machine() {
        let cases = [
            ("https://gateway.example/anthropic", None),
            ("http://127.0.0.1:1", None),
            ("http://127.9.9.9:1/x/v1/", None),
            ("http://localhost", None),
            ("http://[::1]:9", None),
            ("http://example.com", Some("https")),
            ("http://10.0.0.1", Some("https")),
            ("http://127.0.0.1.example.com", Some("https")),
            ("http://localhost.example.com", Some("https")),
            ("http://0.0.0.0", Some("https")),
            ("ftp://127.0.0.1", Some("https")),
            ("file:///etc/passwd", Some("https")),
            ("not an address", Some("address")),
            ("https://user:secret@example.com", Some("password")),
            ("https://secret@example.com", Some("password")),
            ("https://example.com/?key=secret", Some("after")),
            ("https://example.com/#secret", Some("after")),
        ];
        for (url, want) in cases {
            let env = move |name: &str| match name {
                "ANTHROPIC_BASE_URL" => Some(url.to_owned()),
                "ANTHROPIC_API_KEY" => Some("k".to_owned()),
                _ => None,
            };
            let settings = Settings { env: Arc::new(env), ..Settings::new("/nowhere") };
            match (open("anthropic:a", &settings).err(), want) {
                (None, None) => {}
                (Some(ModelError::BaseUrl { variable, why }), Some(want)) => {
                    assert_eq!(variable, "ANTHROPIC_BASE_URL");
                    assert!(why.contains(want) && !why.contains("secret"), "{url}: {why}");
                }
                (other, _) => panic!("{url}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_key_that_no_header_can_hold_is_refused_and_not_shown() {
        let error =
            open("openai:a", &settings(&[("OPENAI_API_KEY", "se\u{1}cret")])).err().unwrap();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("OPENAI_API_KEY") && !shown.contains("cret"), "{shown}");
    }

    #[test]
    fn settings_do_not_show_the_environment() {
        let shown = format!("{:?}", settings(&[("OPENAI_API_KEY", "secret")]));
        assert!(!shown.contains("secret"), "{shown}");
    }

    #[test]
    fn every_key_variable_is_known() {
        for provider in Provider::ALL {
            for variable in provider.keys() {
                assert!(key_variables().contains(variable), "{variable}");
            }
        }
    }
}
