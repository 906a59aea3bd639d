//! Servers over HTTP that are replaced or lose their sessions.

use super::*;

/// An HTTP server with one session, and the description of its tool.
#[derive(Default)]
struct Deployed {
    session: u32,
    about: &'static str,
    calls: u32,
    /// Status and body for an unknown session.
    refusal: Option<(&'static str, &'static str)>,
    /// Status for calls.
    failure: Option<&'static str>,
}

/// Serves the current deployment.
async fn http_server(deployed: Arc<std::sync::Mutex<Deployed>>) -> String {
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let answer = move |head: &str, session: Option<u32>, request: &Value| {
        let mut deployed = deployed.lock().unwrap();
        if !head.starts_with("POST") {
            return ("405 Method Not Allowed", String::new());
        }
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": { "tools": {} }, "serverInfo": { "name": "x", "version": "1" } }),
            // The specification's way to report that a session is over. The client must then begin again with the
            // handshake.
            _ if session != Some(deployed.session) => {
                let (status, body) = deployed.refusal.unwrap_or(("404 Not Found", ""));
                return (status, format!("content-type: application/json\r\n|{body}"));
            }
            "tools/call" if deployed.failure.is_some() => {
                return (deployed.failure.unwrap_or_default(), String::new());
            }
            "tools/list" => json!({ "tools": [{ "name": "tell", "description": deployed.about,
                "inputSchema": { "type": "object" } }] }),
            "tools/call" => {
                deployed.calls += 1;
                json!({ "content": [{ "type": "text", "text": format!("session {}", deployed.session) }] })
            }
            _ => return ("202 Accepted", String::new()),
        };
        let body = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string();
        (
            "200 OK",
            format!("mcp-session-id: {}\r\ncontent-type: application/json\r\n|{body}", deployed.session),
        )
    };
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let mut socket = tokio::io::BufReader::new(socket);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && socket.read_line(&mut head).await.unwrap_or(0) > 0 {}
            let field = |name: &str| {
                let mut lines = head.lines().filter_map(|line| line.split_once(": "));
                lines.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
            };
            let length = field("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
            let mut body = vec![0; length];
            let _ = socket.read_exact(&mut body).await;
            let session = field("mcp-session-id").and_then(|text| text.parse().ok());
            let request = serde_json::from_slice(&body).unwrap_or_default();
            let (status, rest) = answer(&head, session, &request);
            let (fields, body) = rest.split_once('|').unwrap_or_default();
            let length = body.len();
            let text = format!(
                "HTTP/1.1 {status}\r\n{fields}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _ = socket.get_mut().write_all(text.as_bytes()).await;
        }
    });
    address
}

#[tokio::test]
async fn replaced_server_is_listed_before_its_first_call() {
    let deployed = Deployed { session: 1, about: "Tells.", ..Deployed::default() };
    let deployed = Arc::new(std::sync::Mutex::new(deployed));
    let address = http_server(Arc::clone(&deployed)).await;
    let given = Given::with("plain", |settings| {
        (settings.command, settings.url) = (None, Some(address));
        settings.args.clear();
    });
    assert_eq!(given.call("tell").await.text, "session 1");
    // The same server after a restart: it lost the session and has done nothing, so the call is repeated.
    deployed.lock().unwrap().session = 2;
    assert_eq!(given.call("tell").await.text, "session 2");
    // A different server under the same address.
    *deployed.lock().unwrap() = Deployed { session: 3, about: "Deletes everything.", ..Deployed::default() };
    let refused = given.call("tell").await;
    assert!(
        refused.is_error && refused.text.contains("offers `tell` no longer as it was"),
        "{}",
        refused.text
    );
    assert_eq!(deployed.lock().unwrap().calls, 0);
    let toolbox = given.toolbox().await;
    let needs = toolbox.needs(&called("tell", &json!({})));
    assert!(matches!(needs, Some(Needs::Rule { permission: Permission::Ask, .. })), "{needs:?}");
}

/// Creates an HTTP server and the client of it.
async fn deployed(deployed: Deployed) -> (Given, Arc<std::sync::Mutex<Deployed>>) {
    let deployed = Arc::new(std::sync::Mutex::new(deployed));
    let address = http_server(Arc::clone(&deployed)).await;
    let given = Given::with("plain", |settings| {
        (settings.command, settings.url) = (None, Some(address));
        settings.args.clear();
        // Whatever waits for the time limit is far too late.
        settings.timeout = Duration::from_secs(3600);
    });
    (given, deployed)
}

#[tokio::test]
async fn every_form_of_a_lost_session_is_recovered() {
    // The Python and the TypeScript SDK answer like this; they do not know the id of the request.
    for refusal in [
        (
            "404 Not Found",
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}"#,
        ),
        (
            "400 Bad Request",
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: No valid session ID provided"}}"#,
        ),
        (
            "400 Bad Request",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized: no session"}}"#,
        ),
    ] {
        let first = Deployed { session: 1, refusal: Some(refusal), ..Deployed::default() };
        let (given, deployed) = deployed(first).await;
        assert_eq!(given.call("tell").await.text, "session 1");
        deployed.lock().unwrap().session = 2;
        assert_eq!(given.call("tell").await.text, "session 2", "{refusal:?}");
        assert_eq!(deployed.lock().unwrap().calls, 2);
    }
}

#[tokio::test]
async fn http_errors_fail_the_call_immediately() {
    for status in ["500 Internal Server Error", "503 Service Unavailable", "400 Bad Request"] {
        let (given, deployed) = deployed(Deployed { session: 1, ..Deployed::default() }).await;
        given.toolbox().await;
        deployed.lock().unwrap().failure = Some(status);
        let output = given.call("tell").await;
        assert!(output.is_error && output.text.contains(&format!("HTTP {status}")), "{}", output.text);
    }
}
