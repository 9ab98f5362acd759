//! Location of the cache, server and token: the variables and files of the Python libraries.

use std::{
    env,
    ffi::OsString,
    fmt, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Cache, HubError};

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";

/// What the environment says about the hub.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Address of the server, without a slash at the end (`HF_ENDPOINT`).
    pub endpoint: String,
    /// The shared cache (`HF_HUB_CACHE`, `HF_HOME`, `XDG_CACHE_HOME`, or `~/.cache`).
    pub cache: Cache,
    /// Whom the server takes us for (`HF_TOKEN` or the token file).
    pub token: Option<Token>,
    /// Whether to leave the network alone (`HF_HUB_OFFLINE`, `TRANSFORMERS_OFFLINE`).
    pub offline: bool,
    pub retries: RetryPolicy,
}

/// How long to wait for a server, and how often to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Finding and reaching the server.
    pub connect: Duration,
    /// Silence in the middle of an answer.
    pub silence: Duration,
    /// Attempts after the first one that may fail in a row.
    pub n_retries: u32,
    /// The pause before the first of them; each further one doubles.
    pub first_pause: Duration,
    /// The longest pause that a server may ask for.
    pub longest_pause: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            n_retries: 5,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(90),
        }
    }
}

/// A secret that goes to the hub and nowhere else; it does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token in `text`, which may have white space around it; `None` when nothing is left or when it
    /// holds what no token holds.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty() && text.chars().all(|c| c.is_ascii_graphic())).then(|| Self(text.to_owned()))
    }

    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Environment {
    /// Reads the variables of this process.
    ///
    /// # Errors
    /// When there is no home folder for the cache, or `HF_ENDPOINT` is no address.
    pub fn read() -> Result<Self, HubError> {
        Self::from_variables(&|name| env::var_os(name), env::home_dir())
    }

    /// As [`Self::read`], with the variables and the home folder given.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn from_variables(
        variable: &dyn Fn(&str) -> Option<OsString>,
        home: Option<PathBuf>,
    ) -> Result<Self, HubError> {
        let places = HubPaths { variable, home };
        let endpoint = places.text("HF_ENDPOINT").unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned());
        let endpoint = endpoint.trim().trim_end_matches('/').to_owned();
        if !(endpoint.starts_with("http://") || endpoint.starts_with("https://")) {
            return Err(HubError::Endpoint(endpoint));
        }
        Ok(Self {
            endpoint,
            cache: places.cache().map(Cache::at).ok_or(HubError::NoCache)?,
            token: places.token(),
            offline: ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"].into_iter().any(|name| places.is_on(name)),
            retries: RetryPolicy::default(),
        })
    }
}

impl Cache {
    /// The cache that the variables of this process name; `None` without a home folder.
    pub fn from_environment() -> Option<Self> {
        HubPaths { variable: &|name| env::var_os(name), home: env::home_dir() }.cache().map(Self::at)
    }
}

/// Where the variables point.
struct HubPaths<'a> {
    variable: &'a dyn Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
}

impl HubPaths<'_> {
    fn set(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn text(&self, name: &str) -> Option<String> {
        self.set(name)?.into_string().ok()
    }

    /// A path; `~/` means the home folder, as in Python.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.set(name)?);
        match (path.strip_prefix("~"), &self.home) {
            (Ok(below), Some(home)) => Some(home.join(below)),
            _ => Some(path),
        }
    }

    fn is_on(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| ["1", "ON", "YES", "TRUE"].contains(&value.to_ascii_uppercase().as_str()))
    }

    fn hugging_face_home(&self) -> Option<PathBuf> {
        self.path("HF_HOME")
            .or_else(|| self.path("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")))
            .or_else(|| self.home.as_deref().map(|home| home.join(".cache").join("huggingface")))
    }

    fn cache(&self) -> Option<PathBuf> {
        self.path("HF_HUB_CACHE")
            .or_else(|| self.path("HUGGINGFACE_HUB_CACHE"))
            .or_else(|| self.hugging_face_home().map(|home| home.join("hub")))
    }

    fn token(&self) -> Option<Token> {
        let from_variable = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"].into_iter().find_map(|name| self.text(name));
        let from_file = || {
            let path = self.path("HF_TOKEN_PATH").or_else(|| self.hugging_face_home().map(|home| home.join("token")));
            read_short(&path?)
        };
        from_variable.or_else(from_file).and_then(|text| Token::parse(&text))
    }
}

/// The text of a file that is as short as a token.
fn read_short(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    (metadata.is_file() && metadata.len() <= 4_096).then(|| fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)], home: &Path) -> Result<Environment, HubError> {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        Environment::from_variables(&variable, Some(home.to_owned()))
    }

    #[test]
    fn the_cache_is_where_python_has_it() {
        let home = Path::new("home");
        for (variables, expected) in [
            (&[][..], "home/.cache/huggingface/hub"),
            (&[("XDG_CACHE_HOME", "xdg")], "xdg/huggingface/hub"),
            (&[("HF_HOME", "hf"), ("XDG_CACHE_HOME", "xdg")], "hf/hub"),
            (&[("HF_HOME", "~/hf")], "home/hf/hub"),
            (&[("HF_HUB_CACHE", "cache"), ("HF_HOME", "hf")], "cache"),
            (&[("HF_HUB_CACHE", ""), ("HF_HOME", "hf")], "hf/hub"),
        ] {
            assert_eq!(environment(variables, home).unwrap().cache, Cache::at(expected), "{variables:?}");
        }
    }

    #[test]
    fn endpoints_are_addresses() {
        let home = Path::new("home");
        assert_eq!(environment(&[], home).unwrap().endpoint, "https://huggingface.co");
        let mirror = environment(&[("HF_ENDPOINT", "http://127.0.0.1:8080/")], home).unwrap();
        assert_eq!(mirror.endpoint, "http://127.0.0.1:8080");
        assert!(environment(&[("HF_ENDPOINT", "huggingface.co")], home).is_err());
    }

    #[test]
    fn offline_is_any_of_pythons_words_for_yes() {
        let home = Path::new("home");
        for (value, expected) in [("1", true), ("true", true), ("Yes", true), ("0", false), ("", false)] {
            assert_eq!(environment(&[("HF_HUB_OFFLINE", value)], home).unwrap().offline, expected, "{value}");
        }
        assert!(environment(&[("TRANSFORMERS_OFFLINE", "1")], home).unwrap().offline);
    }

    #[test]
    fn the_token_comes_from_the_usual_places_and_does_not_print() {
        let home = tempfile::tempdir().unwrap();
        let token = |variables: &[(&str, &str)]| environment(variables, home.path()).unwrap().token;
        assert_eq!(token(&[]), None);
        let default_file = home.path().join(".cache").join("huggingface");
        fs::create_dir_all(&default_file).unwrap();
        fs::write(default_file.join("token"), "hf_file\n").unwrap();
        assert_eq!(token(&[]), Token::parse("hf_file"));
        let other = home.path().join("other");
        fs::write(&other, "hf_other").unwrap();
        assert_eq!(token(&[("HF_TOKEN_PATH", other.to_str().unwrap())]), Token::parse("hf_other"));
        assert_eq!(token(&[("HUGGING_FACE_HUB_TOKEN", "hf_old")]), Token::parse("hf_old"));
        assert_eq!(token(&[("HF_TOKEN", " hf_new "), ("HUGGING_FACE_HUB_TOKEN", "hf_old")]), Token::parse("hf_new"));
        assert_eq!(token(&[("HF_TOKEN", "two\r\nlines")]), None);
        assert!(!format!("{:?}", environment(&[("HF_TOKEN", "hf_secret")], home.path())).contains("hf_secret"));
    }
}
