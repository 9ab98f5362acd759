//! Addresses: targets of redirects, and which addresses belong to the same server.

use std::net::IpAddr;

use ureq::http::Uri;

/// `text` as one component of an address.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Target of a redirect; `None` if it is invalid or would downgrade HTTPS to HTTP.
pub fn redirected(from: &Uri, location: &str) -> Option<Uri> {
    let (scheme, authority) = (from.scheme_str()?, from.authority()?);
    let full = match location {
        _ if location.starts_with("//") => format!("{scheme}:{location}"),
        _ if location.starts_with('/') => format!("{scheme}://{authority}{location}"),
        _ => location.to_owned(),
    };
    let uri: Uri = full.parse().ok()?;
    let allowed = match uri.scheme_str()? {
        "https" => true,
        "http" => scheme == "http",
        _ => false,
    };
    (allowed && uri.host().is_some()).then_some(uri)
}

/// Whether both addresses are of the same server: scheme, host and port.
pub fn same_origin(a: &Uri, b: &Uri) -> bool {
    let origin = |uri: &Uri| {
        let scheme = uri.scheme_str().unwrap_or_default().to_owned();
        let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
        (scheme, uri.host().unwrap_or_default().to_ascii_lowercase(), port)
    };
    origin(a) == origin(b)
}

/// Whether the address is of this machine.
pub fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_in_the_encryption() {
        let from: Uri = "https://hub.example:8443/a/b?c".parse().unwrap();
        for (location, expected) in [
            ("/x?y=z", Some("https://hub.example:8443/x?y=z")),
            ("//cdn.example/x", Some("https://cdn.example/x")),
            ("https://cdn.example/x", Some("https://cdn.example/x")),
            ("http://cdn.example/x", None),
            ("file:///etc/passwd", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(redirected(&from, location).map(|uri| uri.to_string()).as_deref(), expected, "{location}");
        }
    }

    #[test]
    fn the_token_belongs_to_one_scheme_host_and_port() {
        let same = |a: &str, b: &str| same_origin(&a.parse().unwrap(), &b.parse().unwrap());
        assert!(same("https://Hub.example/a", "https://hub.example:443/b"));
        assert!(!same("https://hub.example/", "http://hub.example/"));
        assert!(!same("https://hub.example/", "https://hub.example:8443/"));
        assert!(!same("https://hub.example/", "https://hub.example.evil/"));
        assert!(!same("https://hub.example/", "https://hub.example@evil/"));
    }

    #[test]
    fn loopback_needs_no_proxy() {
        for (address, expected) in [
            ("http://127.0.0.1:80/", true),
            ("http://localhost/", true),
            ("http://[::1]:8080/", true),
            ("http://127.example/", false),
            ("https://huggingface.co/", false),
        ] {
            assert_eq!(is_loopback(&address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn names_become_one_component_of_an_address() {
        assert_eq!(encoded("model-00001-of-00002.safetensors"), "model-00001-of-00002.safetensors");
        assert_eq!(encoded("refs/pr/1"), "refs%2Fpr%2F1");
        assert_eq!(encoded("ü #?%.model"), "%C3%BC%20%23%3F%25.model");
    }
}
