//! The cookie of a console session, and the origin that a request with it must have.

use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};

use super::sessions::VALID_FOR;

/// Header with which a proxy on this machine reports the scheme of the original request.
const FORWARDED_PROTOCOL: &str = "x-forwarded-proto";

/// Scheme by which the browser reached the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// Returns the scheme of a request. The gateway has no TLS of its own, so only a proxy can report it, and only a
    /// proxy on this machine is believed.
    pub(crate) fn of(headers: &HeaderMap, is_from_loopback: bool) -> Self {
        let forwarded = headers.get(FORWARDED_PROTOCOL).and_then(|value| value.to_str().ok());
        let is_https = forwarded.is_some_and(|value| value.trim().eq_ignore_ascii_case("https"));
        if is_from_loopback && is_https { Self::Https } else { Self::Http }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// Returns the value of a cookie. `None` if the request has none, or more than one of that name.
pub(crate) fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(found, _)| *found == name).map(|(_, value)| value);
    // Two values mean that another page of this host has set one of them.
    values.next().filter(|_| values.next().is_none())
}

/// Returns the `Set-Cookie` header for a session.
pub(crate) fn set(name: &str, value: &str, scheme: Scheme) -> Option<HeaderValue> {
    header(&format!("{name}={value}"), VALID_FOR.as_secs(), scheme)
}

/// Returns the `Set-Cookie` header that removes the cookie.
pub(crate) fn clear(name: &str, scheme: Scheme) -> Option<HeaderValue> {
    header(&format!("{name}="), 0, scheme)
}

fn header(pair: &str, seconds: u64, scheme: Scheme) -> Option<HeaderValue> {
    let secure = if scheme == Scheme::Https { "; Secure" } else { "" };
    let text = format!("{pair}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let mut header = HeaderValue::from_str(&text).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// Returns true if the request has an `Origin` and it is this host.
pub(crate) fn is_same_origin(headers: &HeaderMap, scheme: Scheme) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let (Some(origin), Some(host)) = (text(ORIGIN), text(HOST)) else { return false };
    origin.eq_ignore_ascii_case(&format!("{}://{host}", scheme.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let found = headers(&[("cookie", "a=1; s=2"), ("cookie", "ss=3")]);
        assert_eq!(value(&found, "s"), Some("2"));
        assert_eq!(value(&found, "x"), None);
        assert_eq!(value(&headers(&[("cookie", "s=1; s=2")]), "s"), None);
    }

    #[test]
    fn only_this_host_is_the_same_origin() {
        let is_same = |origin, scheme| {
            is_same_origin(&headers(&[("host", "127.0.0.1:4670"), ("origin", origin)]), scheme)
        };
        assert!(is_same("http://127.0.0.1:4670", Scheme::Http));
        for origin in [
            "http://localhost:4670",
            "http://127.0.0.1:4671",
            "http://127.0.0.1",
            "https://127.0.0.1:4670",
            "null",
        ] {
            assert!(!is_same(origin, Scheme::Http), "{origin}");
        }
        assert!(is_same("https://127.0.0.1:4670", Scheme::Https));
        assert!(!is_same_origin(&headers(&[("host", "127.0.0.1:4670")]), Scheme::Http));
    }

    #[test]
    fn only_a_proxy_on_this_machine_reports_tls() {
        let forwarded = headers(&[("x-forwarded-proto", "https")]);
        assert_eq!(Scheme::of(&forwarded, true), Scheme::Https);
        assert_eq!(Scheme::of(&forwarded, false), Scheme::Http);
        assert_eq!(Scheme::of(&headers(&[("x-forwarded-proto", "http")]), true), Scheme::Http);
        assert!(set("s", "1", Scheme::Https).unwrap().to_str().unwrap().ends_with("; Secure"));
        assert!(!set("s", "1", Scheme::Http).unwrap().to_str().unwrap().contains("Secure"));
    }
}
