//! Tokens that are not valid, tokens of other workspaces, and pages of other origins.

use protocol::method::METHODS;
use serde_json::{Value, json};

use super::stage::{Stage, text};
use super::{Attack, Outcome};

/// Made up and altered tokens of each kind.
const MADE_UP: usize = 100;

pub(super) async fn tokens(attack: &Attack) -> anyhow::Result<Outcome> {
    let stage = Stage::set(attack, None).await?;
    let (name, revoked) = stage.token("owner", None).await?;
    stage.rpc("token/revoke", json!({ "name": name })).await?;
    let past = "2001-01-01T00:00:00Z";
    let params = json!({ "name": "expired", "role": "owner", "expires_at": past });
    // A token cannot be created expired; if it can, it must not work.
    let expired = stage.rpc("token/create", params).await.ok();
    let mut all = vec![String::new(), revoked];
    all.extend(expired.and_then(|created| text(&created["secret"]).ok()));
    for number in 0..MADE_UP {
        let mut altered: Vec<char> = stage.owner.chars().collect();
        let position = 4 + number % (altered.len() - 4);
        if let Some(character) = altered.get_mut(position) {
            *character = if *character == 'a' { 'b' } else { 'a' };
        }
        all.push(altered.into_iter().collect());
        all.push(format!("fwt_{number:064}"));
    }
    all.extend([stage.owner.to_uppercase(), format!("{} x", stage.owner), format!("x{}", stage.owner)]);
    let mut breaches = Vec::new();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "workspace/list", "params": {} });
    let mut attempts = 0;
    for token in &all {
        for (method, path) in [("POST", "/rpc"), ("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/metrics")] {
            attempts += 1;
            let answer = stage.request(method, path)?.token(token).json(&call).ask().await?;
            if answer.status != 401 {
                breaches.push(format!("{method} {path} with {token:?}: {}", answer.status));
            }
        }
    }
    Ok(Outcome::new(attempts, format!("{} tokens, all refused with 401", all.len()), breaches))
}

/// Calls every method about one workspace with tokens that are bound to another.
pub(super) async fn workspaces(attack: &Attack) -> anyhow::Result<Outcome> {
    let stage = Stage::set(attack, None).await?;
    stage.documents(1).await?;
    let other = stage.rpc("workspace/create", json!({ "name": "other" })).await?;
    let other = text(&other["workspace"]["id"])?;
    let tree = stage.rpc("thread/tree", json!({ "workspace_id": stage.workspace })).await?;
    let folder = tree["folders"][0]["id"].clone();
    let thread = json!({ "workspace_id": stage.workspace, "title": "secret thread", "mode": "agent" });
    let thread = stage.rpc("thread/create", thread).await?["thread"]["id"].clone();
    let before = stage.rpc("thread/tree", json!({ "workspace_id": stage.workspace })).await?;
    let mut breaches = Vec::new();
    let mut attempts = 0;
    for role in ["reader", "editor", "operator", "owner"] {
        let (_, token) = stage.token(role, Some(&other)).await?;
        for workspace in [&stage.workspace, &other] {
            for method in METHODS {
                // The ids belong to the workspace under attack, whichever one the call names.
                let params = json!({
                    "workspace_id": workspace, "folder_id": folder, "thread_id": thread, "name": "taken",
                    "title": "taken", "content": "evil", "version": 1, "mode": "agent", "input": "evil",
                });
                for params in variants(&params) {
                    attempts += 1;
                    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method.name, "params": params });
                    let answer = stage.request("POST", "/rpc")?.token(&token).json(&body).ask().await?;
                    if answer.body.contains("makes a dull file") || answer.body.contains("secret thread") {
                        breaches.push(format!("{role}: {} read: {}", method.name, answer.body));
                    }
                }
            }
        }
    }
    let after = stage.rpc("thread/tree", json!({ "workspace_id": stage.workspace })).await?;
    if before != after {
        breaches.push("the tree of the workspace changed".to_owned());
    }
    Ok(Outcome::new(attempts, format!("{} methods in four roles", METHODS.len()), breaches))
}

/// Returns the parameters with each subset of the ids that a method may take, because unknown ones are refused.
fn variants(all: &Value) -> Vec<Value> {
    let sets: &[&[&str]] = &[
        &["workspace_id"],
        &["workspace_id", "folder_id"],
        &["workspace_id", "thread_id"],
        &["workspace_id", "folder_id", "content"],
        &["workspace_id", "folder_id", "name"],
        &["workspace_id", "folder_id", "version"],
        &["workspace_id", "thread_id", "title"],
        &["workspace_id", "thread_id", "input"],
        &["workspace_id", "folder_id", "title", "mode"],
    ];
    let keep = |names: &&[&str]| names.iter().map(|name| ((*name).to_owned(), all[*name].clone())).collect();
    sets.iter().map(keep).map(Value::Object).collect()
}

pub(super) async fn hosts(attack: &Attack) -> anyhow::Result<Outcome> {
    let stage = Stage::set(attack, None).await?;
    let foreign =
        ["evil.example", "localhost.evil.example", "192.0.2.1", "localhost@evil.example", "[::1].evil"];
    let mut headers: Vec<Vec<(&str, String)>> = Vec::new();
    for host in foreign {
        headers.push(vec![("host", host.to_owned())]);
        headers.push(vec![("host", "localhost".to_owned()), ("host", host.to_owned())]);
        headers.push(vec![("host", host.to_owned()), ("host", "localhost".to_owned())]);
        let origin = format!("https://{host}");
        headers.push(vec![("origin", origin.clone())]);
        headers.push(vec![("origin", "http://localhost".to_owned()), ("origin", origin.clone())]);
        headers.push(vec![("origin", origin), ("origin", "http://localhost".to_owned())]);
    }
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "workspace/list", "params": {} });
    let mut breaches = Vec::new();
    let mut attempts = 0;
    for (method, path) in [("POST", "/rpc"), ("POST", "/mcp"), ("GET", "/healthz"), ("GET", "/")] {
        for headers in &headers {
            attempts += 1;
            let request = stage.request(method, path)?.token(&stage.owner).json(&call);
            let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
            let status = request.ask().await?.status;
            if !matches!(status, 400 | 403) {
                breaches.push(format!("{method} {path} with {headers:?}: {status}"));
            }
        }
    }
    Ok(Outcome::new(attempts, "all refused", breaches))
}
