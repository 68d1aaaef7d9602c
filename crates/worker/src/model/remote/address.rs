//! Who is asked, and where.

use std::net::{IpAddr, Ipv4Addr};

use genai::adapter::AdapterKind;
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use super::super::ModelError;
use super::super::open::Settings;

/// Whose protocol is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model) enum Provider {
    Anthropic,
    OpenAi,
    Gemini,
    Ollama,
}

impl Provider {
    pub(in crate::model) const ALL: [Provider; 4] =
        [Provider::Anthropic, Provider::OpenAi, Provider::Gemini, Provider::Ollama];

    /// Returns what the names of its models begin with.
    pub(in crate::model) fn prefix(self) -> &'static str {
        match self {
            Provider::Anthropic => "anthropic",
            Provider::OpenAi => "openai",
            Provider::Gemini => "gemini",
            Provider::Ollama => "ollama",
        }
    }

    /// Returns the variables that can hold the key, the usual one first.
    pub(in crate::model) fn keys(self) -> &'static [&'static str] {
        match self {
            Provider::Anthropic => &["ANTHROPIC_API_KEY"],
            Provider::OpenAi => &["OPENAI_API_KEY"],
            Provider::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Provider::Ollama => &["OLLAMA_API_KEY"],
        }
    }

    /// Returns the variable for the address.
    fn place(self) -> &'static str {
        match self {
            Provider::Anthropic => "ANTHROPIC_BASE_URL",
            Provider::OpenAi => "OPENAI_BASE_URL",
            Provider::Gemini => "GEMINI_BASE_URL",
            Provider::Ollama => "OLLAMA_HOST",
        }
    }

    fn usual_place(self) -> &'static str {
        match self {
            Provider::Anthropic => "https://api.anthropic.com",
            Provider::OpenAi => "https://api.openai.com/v1",
            Provider::Gemini => "https://generativelanguage.googleapis.com",
            Provider::Ollama => "http://127.0.0.1:11434",
        }
    }

    pub(super) fn kind(self) -> AdapterKind {
        match self {
            Provider::Anthropic => AdapterKind::Anthropic,
            Provider::OpenAi => AdapterKind::OpenAI,
            Provider::Gemini => AdapterKind::Gemini,
            Provider::Ollama => AdapterKind::Ollama,
        }
    }

    /// Returns the part of the address that a provider's own programs add to
    /// what the variable says.
    fn version(self, path: &str) -> &'static str {
        let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        match self {
            Provider::Anthropic if last != "v1" => "v1/",
            Provider::OpenAi if last.is_empty() => "v1/",
            Provider::Gemini if !matches!(last, "v1" | "v1alpha" | "v1beta") => "v1beta/",
            _ => "",
        }
    }
}

/// Where a provider is asked, and with which key.
///
/// The key is in `auth` and `secret` only, and both are left out of what is shown.
pub(super) struct Address {
    /// The address, with a slash at its end.
    pub(super) url: Url,
    /// The header that carries the key.
    pub(super) auth: Option<(HeaderName, HeaderValue)>,
    /// The key, to take it out of what a provider says.
    pub(super) secret: Option<String>,
}

impl Address {
    pub(super) fn find(
        name: &str,
        provider: Provider,
        settings: &Settings,
    ) -> Result<Self, ModelError> {
        let place = settings.variable(provider.place());
        let elsewhere = place.is_some();
        let place = place.unwrap_or_else(|| provider.usual_place().to_owned());
        let url = parse(provider, &place).map_err(|why| ModelError::BaseUrl {
            variable: provider.place(),
            why: why.to_owned(),
        })?;
        let mut keys = provider.keys().iter();
        let key = keys.find_map(|variable| Some((*variable, settings.variable(variable)?)));
        let Some((variable, key)) = key else {
            // Servers of one's own seldom want a key.
            let without = provider == Provider::Ollama || provider == Provider::OpenAi && elsewhere;
            if without {
                return Ok(Address { url, auth: None, secret: None });
            }
            return Err(ModelError::NoKey { name: name.to_owned(), variable: provider.keys()[0] });
        };
        let (header, value) = match provider {
            Provider::Anthropic => (HeaderName::from_static("x-api-key"), key.clone()),
            Provider::Gemini => (HeaderName::from_static("x-goog-api-key"), key.clone()),
            Provider::OpenAi | Provider::Ollama => {
                (reqwest::header::AUTHORIZATION, format!("Bearer {key}"))
            }
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| ModelError::BaseUrl {
            variable,
            why: "it holds characters that no key has".to_owned(),
        })?;
        value.set_sensitive(true);
        Ok(Address { url, auth: Some((header, value)), secret: Some(key) })
    }
}

/// Reads an address. The reasons never quote it: it could hold a password.
fn parse(provider: Provider, text: &str) -> Result<Url, &'static str> {
    let text = match provider {
        // As Ollama writes it: a host, perhaps a port, perhaps no scheme.
        Provider::Ollama if !text.contains("://") => format!("http://{text}"),
        _ => text.to_owned(),
    };
    let mut url = Url::parse(&text).map_err(|_| "it is not an address")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user name or password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("there is something after its path");
    }
    if provider == Provider::Ollama {
        // `0.0.0.0` is where a server listens; it is asked on this machine.
        if url.host_str() == Some("0.0.0.0") {
            let _ = url.set_ip_host(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        if url.scheme() == "http" && url.port().is_none() {
            let _ = url.set_port(Some(11434));
        }
    }
    if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback(&url)) {
        return Err("it must begin with https, or with http and lead to this machine (127.0.0.1)");
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&format!("{path}/{}", provider.version(&path)));
    Ok(url)
}

pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_as_the_providers_programs_do() {
        let cases = [
            (Provider::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1/"),
            (Provider::Anthropic, "https://x.test/v1/", "https://x.test/v1/"),
            (Provider::Anthropic, "https://x.test/anthropic", "https://x.test/anthropic/v1/"),
            (Provider::OpenAi, "https://x.test/api", "https://x.test/api/"),
            (Provider::OpenAi, "http://localhost:8000", "http://localhost:8000/v1/"),
            (Provider::Gemini, "https://x.test", "https://x.test/v1beta/"),
            (Provider::Gemini, "https://x.test/v1", "https://x.test/v1/"),
            (Provider::Ollama, "0.0.0.0", "http://127.0.0.1:11434/"),
            (Provider::Ollama, "127.0.0.1:1234", "http://127.0.0.1:1234/"),
            (Provider::Ollama, "https://ollama.test", "https://ollama.test/"),
        ];
        for (provider, text, want) in cases {
            assert_eq!(parse(provider, text).unwrap().as_str(), want, "{text}");
        }
    }
}
