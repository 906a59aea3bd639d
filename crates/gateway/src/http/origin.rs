//! Allowed host names and origins.
//!
//! A web page can make a browser connect to this machine, and a public name can be made to resolve to it (DNS
//! rebinding). So the request's `Host` and the browser's `Origin` must both be loopback or configured.

use std::net::IpAddr;

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

use crate::settings::GatewaySettings;

/// Returns the reason to reject a request; `None` if it is allowed.
pub(crate) fn refusal(headers: &HeaderMap, settings: &GatewaySettings) -> Option<String> {
    // Programs differ in which of two headers they follow, so a second one could hide what the first check would refuse.
    for name in [HOST, ORIGIN] {
        if headers.get_all(&name).iter().nth(1).is_some() {
            return Some(format!("the request has more than one `{name}`"));
        }
    }
    let Some(host) = headers.get(HOST).and_then(|value| value.to_str().ok()) else {
        return Some("the request has no `Host`".to_owned());
    };
    let allowed_host =
        |name: &String| name.eq_ignore_ascii_case(host) || name.eq_ignore_ascii_case(name_of(host));
    if !is_loopback(name_of(host)) && !settings.allowed_hosts.iter().any(allowed_host) {
        return Some(format!(
            "host `{host}` is not allowed; add it to `gateway.allowed_hosts` if this gateway is meant to be called by it"
        ));
    }
    // Only browsers send an `Origin`. For every other program, the check of the host above is all there is.
    let origin = headers.get(ORIGIN)?;
    let origin = origin.to_str().unwrap_or("(unprintable)");
    let from_here = origin.split_once("://").is_some_and(|(scheme, authority)| {
        matches!(scheme, "http" | "https") && is_loopback(name_of(authority))
    });
    // The host is allowed by now, so a page of the same host is as trustworthy as the gateway itself: the console behind a
    // proxy needs its host allowed, and nothing else.
    let is_own = origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host));
    if from_here
        || is_own
        || settings.allowed_origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
    {
        return None;
    }
    Some(format!(
        "origin `{origin}` is not allowed; add it to `gateway.allowed_origins` if its pages may connect"
    ))
}

/// Returns the name without its port. Anything after the name that is not a port stays part of it, so that it never
/// matches an allowed name.
fn name_of(authority: &str) -> &str {
    let name = match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    };
    name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name)
}

/// Returns true if a name always refers to this machine.
pub(crate) fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(host: &str, origin: Option<&str>) -> bool {
        let mut settings = GatewaySettings::new("/nowhere");
        settings.allowed_hosts = vec!["gateway.example".into(), "other.example:99".into()];
        settings.allowed_origins = vec!["https://app.example".into()];
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        refusal(&headers, &settings).is_none()
    }

    #[test]
    fn hosts_are_loopback_or_configured() {
        for host in
            ["localhost", "LOCALHOST:1", "127.0.0.1:4670", "127.8.8.8", "[::1]:4670", "gateway.example:4670"]
        {
            assert!(allowed(host, None), "{host}");
        }
        assert!(allowed("other.example:99", None));
        for host in
            ["evil.example", "localhost.evil.example", "192.168.1.1", "other.example:98", "127.0.0.1.evil"]
        {
            assert!(!allowed(host, None), "{host}");
        }
        for host in ["localhost:80@evil.example", "localhost:evil", "[::1].evil.example", "[::1", ""] {
            assert!(!allowed(host, None), "{host}");
        }
    }

    #[test]
    fn repeated_headers_are_refused() {
        let settings = GatewaySettings::new("/nowhere");
        for (name, second) in [(HOST, "evil.example"), (HOST, "localhost"), (ORIGIN, "https://evil.example")]
        {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "localhost".parse().unwrap());
            headers.insert(ORIGIN, "http://localhost".parse().unwrap());
            assert_eq!(refusal(&headers, &settings), None);
            headers.append(&name, second.parse().unwrap());
            assert!(refusal(&headers, &settings).is_some(), "{name} {second}");
        }
    }

    #[test]
    fn origins_are_loopback_or_configured() {
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:80", "https://app.example"]
        {
            assert!(allowed("localhost", Some(origin)), "{origin}");
        }
        assert!(allowed("gateway.example", Some("https://gateway.example")));
        assert!(!allowed("gateway.example", Some("https://other.example:99")));
        for origin in [
            "null",
            "https://evil.example",
            "file://",
            "https://localhost.evil.example",
            "http://app.example",
            "http://localhost:80@evil.example",
            "http://[::1].evil.example",
        ] {
            assert!(!allowed("localhost", Some(origin)), "{origin}");
        }
    }
}
