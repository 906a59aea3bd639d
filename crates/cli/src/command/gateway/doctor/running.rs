//! Checks of a running gateway.

use std::time::Duration;

use protocol::method::{WorkspaceList, WorkspaceListParams};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::check::Check;
use crate::command::gateway::serve::{exposed_roots, private_paths};
use crate::context::Context;

/// Time limit of an answer; the gateway checks its database meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum size of an answer.
const MAX_ANSWER: u64 = 16 << 10;

/// Returns the reason from `/readyz` if the gateway is not ready.
pub(super) async fn readiness(url: &str) -> Result<(), String> {
    let asked = tokio::time::timeout(PATIENCE, ask(url)).await;
    let answer = asked
        .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
        .map_err(|error| format!("/readyz does not answer: {error}"))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status == "200" {
        return Ok(());
    }
    Err(match body.trim() {
        "" => format!("/readyz answers {status}"),
        reason => reason.to_owned(),
    })
}

async fn ask(url: &str) -> std::io::Result<String> {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).await?;
    // One fixed request to our own gateway does not need an HTTP library.
    let request = format!("GET /readyz HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    // An unrelated server may have taken the port and send any amount of data.
    stream.take(MAX_ANSWER).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Checks that no private files are below workspace roots, if a gateway can be queried.
pub(super) async fn roots(context: &Context) -> Vec<Check> {
    // Another check reports that the gateway cannot be reached.
    let Ok(client) = context.connect().await else { return Vec::new() };
    let Ok(listed) = client.call::<WorkspaceList>(&WorkspaceListParams { archived: false }).await else {
        return Vec::new();
    };
    let exposed = exposed_roots(listed.workspaces, private_paths(context)).await;
    exposed.into_iter().map(|(message, hint)| Check::warn("workspaces", message).hint(hint)).collect()
}
