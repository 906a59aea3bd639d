//! `/mcp`: the tools and resources of our MCP server over streamable HTTP, with the gateway's tokens.

use instructions::HomeDirectories;
use protocol::Role;
use serde_json::{Value, json};
use test_gateway::TestGateway;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::support::{HttpAnswer, World, ask, request, soon};

/// A gateway with two workspaces, of which one has a directory.
struct Place {
    gateway: TestGateway,
    world: World,
    directory: tempfile::TempDir,
}

impl Place {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path);
        for path in ["root/.git", "root/sub", "home/.codex", "outside"] {
            std::fs::create_dir_all(at(path)).unwrap();
        }
        for (path, text) in [
            ("root/AGENTS.md", "ROOT\n"),
            ("root/sub/AGENTS.md", "SUB\n"),
            ("root/sub/x.rs", "fn main() {}\n"),
            ("home/.codex/AGENTS.md", "OWN\n"),
            ("outside/AGENTS.md", "OUTSIDE\n"),
        ] {
            std::fs::write(at(path), text).unwrap();
        }
        // A link that leaves the workspace: it must not make files readable that the token may not read.
        std::os::unix::fs::symlink("../outside", at("root/link")).unwrap();
        let homes = HomeDirectories::find(Some(at("home")), |_| None);
        let gateway = TestGateway::start_with(|settings| settings.agent.files.homes = homes).await.unwrap();
        let world = World::new(&gateway, "shop").await;
        let root = world.with(json!({ "root_path": at("root") }));
        ask(&gateway.owner_in_memory(), "workspace/update", root).await.unwrap();
        gateway.workspace("other").await.unwrap();
        Self { gateway, world, directory }
    }

    fn path(&self, below: &str) -> String {
        self.directory.path().join(below).to_string_lossy().into_owned()
    }

    async fn client(&self, role: Role, is_bound: bool) -> McpClient<'_> {
        let workspace = is_bound.then(|| self.world.workspace.parse().unwrap());
        let secret = self.gateway.token(&format!("{role} {is_bound}"), role, workspace).await.unwrap();
        McpClient::connect(&self.gateway, secret).await
    }
}

/// A hand-written client, so that every header and message is visible to the test.
struct McpClient<'a> {
    gateway: &'a TestGateway,
    secret: String,
    session: String,
}

impl<'a> McpClient<'a> {
    async fn connect(gateway: &'a TestGateway, secret: String) -> Self {
        let mut client = Self { gateway, secret, session: String::new() };
        let hello = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "ada\u{7}", "version": "1" } },
        });
        let answer = client.post("", &hello).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["result"]["serverInfo"]["name"], "foreword");
        client.session = answer.header("mcp-session-id").unwrap().to_owned();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(client.post("", &ready).await.status, 202);
        client
    }

    fn head(&self, method: &str) -> String {
        let session = match self.session.as_str() {
            "" => String::new(),
            id => format!("\r\nMcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-06-18"),
        };
        format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}{session}", self.secret)
    }

    async fn post(&self, more: &str, body: &Value) -> HttpAnswer {
        let body = body.to_string();
        let head = format!(
            "{}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}{more}",
            self.head("POST"),
            body.len()
        );
        request(self.gateway, &head, body.as_bytes()).await
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.post("", &call).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Returns a tool's answer and its error flag.
    async fn tool(&self, name: &str, arguments: Value) -> (Value, bool) {
        let mut answer = self.ask("tools/call", json!({ "name": name, "arguments": arguments })).await;
        let is_error = answer["result"]["isError"].as_bool().unwrap_or_else(|| panic!("{answer}"));
        (answer["result"].take(), is_error)
    }

    async fn ok(&self, name: &str, arguments: Value) -> Value {
        let (result, is_error) = self.tool(name, arguments).await;
        assert!(!is_error, "{result}");
        result
    }

    async fn refused(&self, name: &str, arguments: Value) -> Value {
        let (result, is_error) = self.tool(name, arguments).await;
        assert!(is_error, "{result}");
        result
    }

    /// Opens the stream of changes.
    async fn stream(&self) -> tokio::io::Lines<BufReader<TcpStream>> {
        let mut stream = TcpStream::connect(self.gateway.gateway().address()).await.unwrap();
        let head = format!("{}\r\nAccept: text/event-stream\r\n\r\n", self.head("GET"));
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(stream).lines();
        let status = soon("a stream", lines.next_line()).await.unwrap().unwrap();
        assert!(status.contains("200"), "{status}");
        lines
    }
}

/// Returns the next event of a stream; `None` at its end.
async fn next_event(lines: &mut tokio::io::Lines<BufReader<TcpStream>>) -> Option<Value> {
    loop {
        let line = soon("an event", lines.next_line()).await.ok().flatten()?;
        if let Some(data) = line.strip_prefix("data: ") {
            return Some(serde_json::from_str(data).unwrap());
        }
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn tools_answer_for_paths_of_the_workspaces() {
    let place = Place::new().await;
    let reader = place.client(Role::Reader, true).await;
    let listed = reader.ask("tools/list", json!({})).await;
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["effective_instructions", "explain", "compare", "document_get"]);
    for path in
        [json!({}), json!({ "path": place.path("root") }), json!({ "path": ".", "workspace": "shop" })]
    {
        let answer = reader.ok("effective_instructions", path).await;
        assert!(text(&answer).contains("ROOT") && !text(&answer).contains("SUB"), "{answer}");
        assert_eq!(answer["structuredContent"]["profile"], "foreword");
    }
    for path in
        ["sub".to_owned(), "sub/x.rs".to_owned(), "sub/new/y.rs".to_owned(), place.path("root/sub/x.rs")]
    {
        let answer = reader.ok("effective_instructions", json!({ "path": path })).await;
        assert!(text(&answer).contains("SUB"), "{path}: {answer}");
    }
    let explained = reader.ok("explain", json!({ "path": "sub", "agent": "gemini-cli" })).await;
    assert_eq!(explained["structuredContent"]["profile"], "gemini-cli");
    let compared =
        reader.ok("compare", json!({ "path": "sub", "agents": ["codex"], "reading": "x.rs" })).await;
    assert_eq!(
        compared["structuredContent"]["agents"][0]["files"][1]["path"],
        place.path("root/sub/AGENTS.md")
    );
}

#[tokio::test]
async fn paths_are_those_that_the_token_may_read() {
    let place = Place::new().await;
    let owner = place.client(Role::Owner, false).await;
    let bound = place.client(Role::Owner, true).await;
    for client in [&owner, &bound] {
        for path in [place.path("outside"), place.path("root/link"), "/".to_owned(), place.path("nowhere")] {
            for tool in ["effective_instructions", "explain", "compare"] {
                let refused = client.refused(tool, json!({ "path": path })).await;
                assert_eq!(refused["structuredContent"]["code"], -32003, "{tool} {path}: {refused}");
            }
        }
        let behind = async |below: &str| {
            let path = place.path(&format!("root/link/{below}"));
            let refused = client.refused("effective_instructions", json!({ "path": path })).await;
            text(&refused).replace(below, "")
        };
        assert_eq!(behind("AGENTS.md").await, behind("missing").await, "nothing shows what exists outside");
        let above =
            client.refused("effective_instructions", json!({ "path": "..", "workspace": "shop" })).await;
        assert_eq!(above["structuredContent"]["code"], -32003, "{above}");
        let uri = format!("foreword://effective/{}", place.path("outside").replace('/', "%2F"));
        let refused = client.ask("resources/read", json!({ "uri": uri })).await;
        assert_eq!(refused["error"]["data"]["code"], -32003, "{refused}");
    }
    let refused = bound.refused("document_get", json!({ "workspace": "other" })).await;
    assert_eq!(refused["structuredContent"]["code"], -32004, "not even its name is told: {refused}");
    let own = |answer: Value| text(&answer).contains("OWN");
    let as_codex = json!({ "workspace": "shop", "agent": "codex" });
    assert!(own(owner.ok("effective_instructions", as_codex.clone()).await));
    assert!(
        !own(bound.ok("effective_instructions", as_codex).await),
        "own files are for owners of everything"
    );
}

#[tokio::test]
async fn documents_are_saved_over_the_version_that_is_named() {
    let place = Place::new().await;
    let editor = place.client(Role::Editor, true).await;
    let new = json!({ "content": "One.\n", "expected_version": 0, "message": "first" });
    let saved = editor.ok("document_save", new).await;
    assert_eq!(saved["structuredContent"]["doc"]["version"], 1);
    // A client may call itself anything, so the author is the token.
    assert_eq!(saved["structuredContent"]["doc"]["updated_by"], "editor true");
    let other = json!({ "content": "Other.\n", "expected_version": 0 });
    let conflict = editor.refused("document_save", other).await;
    assert_eq!(conflict["structuredContent"]["code"], -32009, "{conflict}");
    let missing = editor.refused("document_save", json!({ "content": "x" })).await;
    assert!(text(&missing).contains("expected_version"), "{missing}");
    let unknown = editor
        .refused("document_save", json!({ "content": "x", "expected_version": 1, "forse": true }))
        .await;
    assert!(text(&unknown).contains("no argument `forse`"), "{unknown}");
    let got = editor.ok("document_get", json!({})).await;
    assert_eq!(got["structuredContent"]["explicit"]["content"], "One.\n");
    let reader = place.client(Role::Reader, true).await;
    let call = json!({ "name": "document_save", "arguments": { "content": "x", "expected_version": 1 } });
    let refused = reader.ask("tools/call", call).await;
    assert_eq!(refused["error"]["code"], -32602, "a reader has no such tool: {refused}");
    // Our own protocol records the author of a client that acts for another in the same way.
    let owner = place.gateway.owner_in_memory();
    let program = json!({ "client": { "name": "mcp:owner\u{202e} b\u{200b}ob", "version": "1" } });
    ask(&owner, "initialize", program).await.unwrap();
    let params = place.world.with(json!({ "content": "Two.\n", "expected_version": 1 }));
    let saved = ask(&owner, "thread/agents_doc/save", params).await.unwrap();
    assert_eq!(saved["doc"]["updated_by"], "stdio");
    let history = ask(&owner, "thread/agents_doc/history", place.world.with(json!({}))).await.unwrap();
    let clients = [0, 1].map(|revision| history["revisions"][revision]["client"].clone());
    assert_eq!(clients, ["mcp:owner bob", "mcp:ada"]);
    assert_eq!(history["revisions"][1]["saved_by"], "editor true");
}

#[tokio::test]
async fn subscribers_are_notified_on_the_stream() {
    let place = Place::new().await;
    let reader = place.client(Role::Reader, true).await;
    let listed = reader.ask("resources/list", json!({})).await;
    let uris: Vec<String> = listed["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["uri"].as_str().unwrap().to_owned())
        .collect();
    let effective = format!("foreword://effective/{}", place.path("root").replace('/', "%2F"));
    assert_eq!(uris, [effective.clone(), "foreword://document/shop".to_owned()]);
    for uri in &uris {
        let followed = reader.ask("resources/subscribe", json!({ "uri": uri })).await;
        assert!(followed["result"].is_object(), "{followed}");
    }
    let mut events = reader.stream().await;
    std::fs::write(place.directory.path().join("root/AGENTS.md"), "OTHER\n").unwrap();
    assert_eq!(next_event(&mut events).await.unwrap()["params"]["uri"], effective);
    let editor = place.client(Role::Editor, true).await;
    editor.ok("document_save", json!({ "content": "New.\n", "expected_version": 0 })).await;
    let told = next_event(&mut events).await.unwrap();
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "foreword://document/shop");
    // Another stream of the same session replaces the first one.
    let mut newer = reader.stream().await;
    assert_eq!(next_event(&mut events).await, None);
    std::fs::write(place.directory.path().join("root/AGENTS.md"), "THIRD\n").unwrap();
    assert_eq!(next_event(&mut newer).await.unwrap()["params"]["uri"], effective);
    let ended = request(&place.gateway, &reader.head("DELETE"), b"").await;
    assert_eq!(ended.status, 204);
    assert_eq!(next_event(&mut newer).await, None, "the stream ends with the session");
}

#[tokio::test]
async fn a_session_is_its_tokens_and_ends_with_it() {
    let place = Place::new().await;
    let reader = place.client(Role::Reader, true).await;
    let mut stranger = place.client(Role::Editor, true).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let own = std::mem::replace(&mut stranger.session, reader.session.clone());
    // Not 403: the answer must not reveal that the session of another token exists.
    assert_eq!(stranger.post("", &ping).await.status, 404, "another token's session is none");
    stranger.session = own;
    assert_eq!(stranger.post("", &ping).await.status, 200);
    let mut events = reader.stream().await;
    let owner = place.gateway.owner_in_memory();
    ask(&owner, "token/revoke", json!({ "name": "reader true" })).await.unwrap();
    assert_eq!(next_event(&mut events).await, None, "the stream of a revoked token ends");
    assert_eq!(reader.post("", &ping).await.status, 401);
}

#[tokio::test]
async fn any_input_is_answered() {
    let place = Place::new().await;
    let reader = place.client(Role::Reader, true).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let body = ping.to_string();
    let send = async |head: String| {
        let head = format!("{head}\r\nContent-Length: {}", body.len());
        request(&place.gateway, &head, body.as_bytes()).await.status
    };
    let kind = "\r\nContent-Type: application/json";
    let bearer = format!("\r\nAuthorization: Bearer {}", reader.secret);
    let start = "POST /mcp HTTP/1.1\r\nHost: localhost";
    assert_eq!(send(format!("{start}{kind}")).await, 401);
    assert_eq!(send(format!("{start}{kind}{bearer}")).await, 400, "no session");
    assert_eq!(send(format!("{start}{kind}{bearer}\r\nMcp-Session-Id: 00")).await, 404);
    assert_eq!(send(format!("{start}{kind}{bearer}\r\nOrigin: https://evil.example")).await, 403);
    assert_eq!(send(format!("POST /mcp HTTP/1.1\r\nHost: evil.example{kind}{bearer}")).await, 403);
    let head = reader.head("POST");
    assert_eq!(send(format!("{head}\r\nContent-Type: text/plain")).await, 415);
    assert_eq!(send(format!("{head}{kind}\r\nAccept: text/html")).await, 406);
    assert_eq!(send(format!("{head}{kind}\r\nAccept: */*")).await, 200);
    let old = head.replace("2025-06-18", "1999-01-01");
    assert_eq!(send(format!("{old}{kind}")).await, 400);
    assert_eq!(send(reader.head("PUT")).await, 405);
    assert_eq!(
        request(&place.gateway, &format!("{}\r\nAccept: application/json", reader.head("GET")), b"")
            .await
            .status,
        406
    );
    for (sent, code) in [
        ("not json", -32700),
        ("7", -32600),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#, -32601),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}"#,
            -32002,
        ),
    ] {
        let head = format!("{head}{kind}\r\nContent-Length: {}", sent.len());
        let answer = request(&place.gateway, &head, sent.as_bytes()).await;
        assert_eq!(answer.error_code(), code, "{sent}: {answer:?}");
    }
    let many = Value::Array(vec![ping; 65]);
    assert_eq!(reader.post("", &many).await.error_code(), -32600, "a batch has a bound");
    let followed = |number: usize| {
        let uri =
            format!("foreword://effective/{}", place.path(&format!("root/{number}")).replace('/', "%2F"));
        std::fs::create_dir(place.directory.path().join(format!("root/{number}"))).unwrap();
        reader.ask("resources/subscribe", json!({ "uri": uri }))
    };
    // Each followed resource is checked about once a second, so a client must not be able to follow any number of them.
    for number in 0..16 {
        assert!(followed(number).await["result"].is_object());
    }
    assert_eq!(followed(16).await["error"]["code"], -32602, "what is followed has a bound");
}
