//! The web console over HTTP: files, sign-in, sessions, and requests of other pages.

use protocol::Role;
use serde_json::{Value, json};
use test_gateway::TestGateway;
use tokio::net::TcpStream;

use crate::support::{HttpAnswer, Socket, get, request, soon, until};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"workspace/list","params":{}}"#;

/// Returns the origin of the console's pages.
fn origin(gateway: &TestGateway) -> String {
    format!("http://{}", gateway.gateway().address())
}

/// Sends a POST as a page of `origin` would.
async fn post_from(gateway: &TestGateway, path: &str, headers: &str, body: &str) -> HttpAnswer {
    let host = gateway.gateway().address();
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}{headers}");
    request(gateway, &head, body.as_bytes()).await
}

async fn sign_in(gateway: &TestGateway, body: &Value) -> HttpAnswer {
    let headers = format!("\r\nOrigin: {}", origin(gateway));
    post_from(gateway, "/console/session", &headers, &body.to_string()).await
}

/// Signs in with a token and returns the cookie.
async fn cookie(gateway: &TestGateway, secret: &str) -> String {
    let answer = sign_in(gateway, &json!({ "token": secret })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

/// Lists the workspaces with a cookie, as a page of `origin`.
async fn list(gateway: &TestGateway, cookie: &str, origin: &str) -> HttpAnswer {
    let headers = format!("\r\nOrigin: {origin}\r\nCookie: {cookie}");
    post_from(gateway, "/rpc", &headers, LIST).await
}

async fn code(gateway: &TestGateway) -> String {
    let made = Socket::owner(gateway).await.ok("console/code", json!({})).await;
    made["code"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_code_signs_in_once() {
    let gateway = TestGateway::start().await.unwrap();
    let code = code(&gateway).await;
    assert!(code.len() == 32 && code.bytes().all(|byte| byte.is_ascii_hexdigit()), "{code}");
    let answer = sign_in(&gateway, &json!({ "code": code })).await;
    assert_eq!((answer.status, &answer.json()["role"]), (200, &json!("owner")));
    let set = answer.header("set-cookie").unwrap();
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict", "; Max-Age=43200"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("Domain") && !set.contains("Secure"), "{set}");
    let again = sign_in(&gateway, &json!({ "code": code })).await;
    assert_eq!((again.status, again.error_code()), (401, -32001));
    assert_eq!(again.header("set-cookie"), None);
}

#[tokio::test]
async fn a_session_has_the_reach_of_its_token() {
    let gateway = TestGateway::start().await.unwrap();
    let mine = gateway.workspace("mine").await.unwrap();
    gateway.workspace("other").await.unwrap();
    let secret = gateway.token("guest", Role::Reader, Some(mine.id.clone())).await.unwrap();
    let cookie = cookie(&gateway, &secret).await;
    let answer = list(&gateway, &cookie, &origin(&gateway)).await;
    assert_eq!(answer.json()["result"]["workspaces"].as_array().unwrap().len(), 1);
    assert!(answer.header("set-cookie").unwrap().starts_with(&cookie), "use renews the cookie");
    let create = r#"{"jsonrpc":"2.0","id":1,"method":"workspace/create","params":{"name":"x"}}"#;
    let headers = format!("\r\nOrigin: {}\r\nCookie: {cookie}", origin(&gateway));
    let refused = post_from(&gateway, "/rpc", &headers, create).await;
    assert_eq!(refused.error_code(), -32003);
}

#[tokio::test]
async fn a_cookie_works_only_from_pages_of_this_host() {
    let gateway = TestGateway::start().await.unwrap();
    let cookie = cookie(&gateway, &gateway.owner_secret().unwrap()).await;
    let port = gateway.gateway().address().port();
    assert_eq!(list(&gateway, &cookie, &origin(&gateway)).await.status, 200);
    for other in [
        format!("http://localhost:{port}"),
        "http://127.0.0.1:1".to_owned(),
        format!("https://127.0.0.1:{port}"),
        "https://evil.example".to_owned(),
        "null".to_owned(),
    ] {
        let answer = list(&gateway, &cookie, &other).await;
        assert_eq!((answer.status, answer.error_code()), (403, -32003), "{other}");
        let headers = format!("\r\nOrigin: {other}\r\nCookie: {cookie}");
        for path in ["/console/logout", "/console/check"] {
            assert_eq!(post_from(&gateway, path, &headers, "").await.status, 403, "{path} {other}");
        }
        let body = json!({ "token": gateway.owner_secret().unwrap() }).to_string();
        let signed_in = post_from(&gateway, "/console/session", &headers, &body).await;
        assert_eq!((signed_in.status, signed_in.header("set-cookie")), (403, None), "{other}");
    }
    let silent = post_from(&gateway, "/rpc", &format!("\r\nCookie: {cookie}"), LIST).await;
    assert_eq!(silent.status, 403);
    // A cookie opens nothing but the protocol.
    let headers = format!("\r\nOrigin: {}\r\nCookie: {cookie}", origin(&gateway));
    let host = gateway.gateway().address();
    let metrics = request(&gateway, &format!("GET /metrics HTTP/1.1\r\nHost: {host}{headers}"), b"").await;
    assert_eq!(metrics.status, 401);
}

#[tokio::test]
async fn allowed_origins_have_no_use_of_the_cookie() {
    let gateway = TestGateway::start_with(|settings| {
        settings.allowed_origins = vec!["https://app.example".to_owned()];
    })
    .await
    .unwrap();
    let cookie = cookie(&gateway, &gateway.owner_secret().unwrap()).await;
    assert_eq!(list(&gateway, &cookie, "https://app.example").await.status, 403);
}

#[tokio::test]
async fn a_proxy_with_tls_gets_secure_cookies() {
    let gateway = TestGateway::start_with(|settings| {
        settings.allowed_hosts = vec!["gateway.example".to_owned()];
    })
    .await
    .unwrap();
    let body = json!({ "token": gateway.owner_secret().unwrap() }).to_string();
    let length = body.len();
    let head = format!(
        "POST /console/session HTTP/1.1\r\nHost: gateway.example\r\nOrigin: https://gateway.example\r\n\
         X-Forwarded-Proto: https\r\nContent-Length: {length}"
    );
    let answer = request(&gateway, &head, body.as_bytes()).await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("set-cookie").unwrap().ends_with("; Secure"));
}

#[tokio::test]
async fn signing_out_closes_the_sessions_sockets() {
    let gateway = TestGateway::start().await.unwrap();
    let secret = gateway.owner_secret().unwrap();
    let ended = cookie(&gateway, &secret).await;
    let kept = cookie(&gateway, &secret).await;
    let mut socket = upgrade(&gateway, &ended).await;
    let mut other = upgrade(&gateway, &kept).await;
    socket.ok("workspace/list", json!({})).await;
    let headers = format!("\r\nOrigin: {}\r\nCookie: {ended}", origin(&gateway));
    let answer = post_from(&gateway, "/console/logout", &headers, "").await;
    assert_eq!(answer.status, 204);
    assert!(answer.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(soon("the end", socket.closed()).await.unwrap().0, 1008);
    assert_eq!(list(&gateway, &ended, &origin(&gateway)).await.status, 401);
    other.ok("workspace/list", json!({})).await;
}

#[tokio::test]
async fn a_revoked_token_ends_its_console_sessions() {
    let gateway = TestGateway::start().await.unwrap();
    let secret = gateway.token("guest", Role::Reader, None).await.unwrap();
    let cookie = cookie(&gateway, &secret).await;
    let mut socket = upgrade(&gateway, &cookie).await;
    Socket::owner(&gateway).await.ok("token/revoke", json!({ "name": "guest" })).await;
    assert_eq!(soon("the end", socket.closed()).await.unwrap().0, 1008);
    assert_eq!(list(&gateway, &cookie, &origin(&gateway)).await.status, 401);
    let headers = format!("\r\nOrigin: {}\r\nCookie: {cookie}", origin(&gateway));
    let checked = post_from(&gateway, "/console/check", &headers, "").await;
    assert_eq!((checked.status, checked.json()), (200, json!({ "signed_in": false })));
}

async fn upgrade(gateway: &TestGateway, cookie: &str) -> Socket {
    let stream = TcpStream::connect(gateway.gateway().address()).await.unwrap();
    let origin = origin(gateway);
    let host = gateway.gateway().address().to_string();
    Socket::upgrade(stream, &[("cookie", cookie), ("origin", &origin), ("host", &host)]).await.unwrap().0
}

#[tokio::test]
async fn only_failed_sign_ins_are_limited() {
    let gateway = TestGateway::start().await.unwrap();
    let mut last = None;
    for _ in 0..12 {
        last = Some(sign_in(&gateway, &json!({ "code": "0".repeat(32) })).await);
    }
    let refused = last.unwrap();
    assert_eq!((refused.status, refused.error_code()), (429, -32029));
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
    let code = code(&gateway).await;
    assert_eq!(sign_in(&gateway, &json!({ "code": code })).await.status, 200);
    for body in [json!({}), json!([]), json!({ "code": "a", "token": "b" }), json!({ "code": 7 })] {
        assert_eq!(sign_in(&gateway, &body).await.status, 400, "{body}");
    }
}

#[tokio::test]
async fn sign_ins_are_audited() {
    let gateway = TestGateway::start().await.unwrap();
    cookie(&gateway, &gateway.owner_secret().unwrap()).await;
    sign_in(&gateway, &json!({ "code": "unknown" })).await;
    let mut owner = Socket::owner(&gateway).await;
    until("both entries", async || {
        let entries = owner.ok("audit/list", json!({ "limit": 100 })).await;
        let kinds: Vec<&Value> =
            entries["entries"].as_array().unwrap().iter().map(|entry| &entry["event"]["kind"]).collect();
        kinds.contains(&&json!("console_session")) && kinds.contains(&&json!("authentication_failed"))
    })
    .await;
}

#[tokio::test]
async fn the_consoles_files_are_public_and_confined() {
    let gateway = TestGateway::start().await.unwrap();
    let index = get(&gateway, "/console/", None).await;
    assert_eq!((index.status, index.header("cache-control")), (200, Some("no-store")));
    let policy = index.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
    let text = index.text();
    let (_, rest) = text.split_once("./assets/").unwrap();
    let (name, _) = rest.split_once('"').unwrap();
    let asset = get(&gateway, &format!("/console/assets/{name}"), None).await;
    assert_eq!(asset.header("cache-control"), Some("public, max-age=31536000, immutable"));
    for path in ["/console/assets/missing.js", "/console/..%2fCargo.toml", "/console/assets"] {
        assert_eq!(get(&gateway, path, None).await.status, 404, "{path}");
    }
    assert_eq!(get(&gateway, "/console", None).await.status, 308);
}

#[tokio::test]
async fn a_disabled_console_is_gone() {
    let gateway = TestGateway::start_with(|settings| settings.console_enabled = false).await.unwrap();
    for path in ["/console", "/console/"] {
        assert_eq!(get(&gateway, path, None).await.status, 404);
    }
    assert_eq!(sign_in(&gateway, &json!({ "token": gateway.owner_secret().unwrap() })).await.status, 404);
    let refused = Socket::owner(&gateway).await.refused(-32011, "console/code", json!({})).await;
    assert!(refused.to_string().contains("console.enabled"), "{refused}");
}
