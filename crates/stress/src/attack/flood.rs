//! Clients that ask for much and read little.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::{ResidentMemory, show_bytes, show_time};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::stage::Stage;
use super::{Attack, Outcome};

/// Memory that a gateway may use under any of these attacks. Its limits for unread answers add up to less.
const MEMORY: u64 = 400 << 20;
/// Longest silence of `/healthz`, and longest wait of another client, on a busy machine.
const SILENCE: Duration = Duration::from_secs(10);
const BATCHES: usize = 60;
const SOCKETS: usize = 150;
/// Time that a client does not read.
const UNREAD: Duration = Duration::from_secs(8);

/// A route with batches.
#[derive(Debug, Clone, Copy)]
pub(super) enum Endpoint {
    Mcp,
    Rpc,
}

/// Watches a gateway's memory and the time `/healthz` takes.
struct Watch {
    memory: ResidentMemory,
    before: u64,
    done: Arc<AtomicBool>,
    slowest: tokio::task::JoinHandle<Duration>,
}

impl Watch {
    fn start(stage: &Stage) -> anyhow::Result<Self> {
        let memory = ResidentMemory::of(stage.gateway.pid());
        memory.reset_peak();
        let before = memory.now()?;
        let done = Arc::new(AtomicBool::new(false));
        let request = stage.request("GET", "/healthz")?;
        let is_done = Arc::clone(&done);
        let slowest = tokio::spawn(async move {
            let mut slowest = Duration::ZERO;
            while !is_done.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let answer = request.ask().await;
                let took = if answer.is_ok() { begun.elapsed() } else { Duration::MAX };
                slowest = slowest.max(took);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            slowest
        });
        Ok(Self { memory, before, done, slowest })
    }

    async fn end(self, attempts: usize, more: &str) -> anyhow::Result<Outcome> {
        self.done.store(true, Ordering::Relaxed);
        let slowest = self.slowest.await?;
        let peak = self.memory.peak()?;
        let mut breaches = Vec::new();
        if peak > MEMORY {
            breaches.push(format!("the gateway used {}", show_bytes(peak)));
        }
        if slowest > SILENCE {
            breaches.push(format!("`/healthz` was silent for {}", show_time(slowest)));
        }
        let figures = format!(
            "{} → {}, `/healthz` at most {}{more}",
            show_bytes(self.before),
            show_bytes(peak),
            show_time(slowest)
        );
        Ok(Outcome::new(attempts, figures, breaches))
    }
}

fn batch_of_tools() -> Value {
    let call = |id: usize| {
        let arguments = json!({ "workspace": "attacked", "folder": format!("folder{}", id % 8) });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "document_get", "arguments": arguments } })
    };
    (1..=64).map(call).collect()
}

fn batch_of_documents(stage: &Stage, folders: &[String]) -> Value {
    let call = |id: usize| {
        let folder = folders.get(id % folders.len());
        json!({ "jsonrpc": "2.0", "id": id, "method": "thread/agents_doc/get",
            "params": { "workspace_id": stage.workspace, "folder_id": folder } })
    };
    (1..=64).map(call).collect()
}

async fn folders(stage: &Stage) -> anyhow::Result<Vec<String>> {
    let tree = stage.rpc("thread/tree", json!({ "workspace_id": stage.workspace })).await?;
    let folders = tree["folders"].as_array().into_iter().flatten();
    Ok(folders.filter_map(|folder| folder["id"].as_str().map(str::to_owned)).collect())
}

pub(super) async fn unread_batches(attack: &Attack, endpoint: Endpoint) -> anyhow::Result<Outcome> {
    let stage = Stage::set(attack, None).await?;
    stage.documents(8).await?;
    let (_, token) = stage.token("reader", Some(&stage.workspace)).await?;
    let request = match endpoint {
        Endpoint::Mcp => {
            let session = stage.session(&token, "flood").await?.map_err(anyhow::Error::msg)?;
            stage.mcp(&token, &session, &batch_of_tools())?
        }
        Endpoint::Rpc => {
            let batch = batch_of_documents(&stage, &folders(&stage).await?);
            stage.request("POST", "/rpc")?.token(&token).json(&batch)
        }
    };
    let watch = Watch::start(&stage)?;
    let count = match endpoint {
        Endpoint::Mcp => BATCHES,
        Endpoint::Rpc => SOCKETS,
    };
    let mut open = Vec::new();
    for _ in 0..count {
        open.push(request.send().await?);
    }
    tokio::time::sleep(UNREAD).await;
    drop(open);
    watch.end(count, "").await
}

pub(super) async fn unread_websockets(attack: &Attack) -> anyhow::Result<Outcome> {
    let stage = Stage::set(attack, None).await?;
    stage.documents(8).await?;
    let (_, token) = stage.token("reader", Some(&stage.workspace)).await?;
    let batch = batch_of_documents(&stage, &folders(&stage).await?).to_string();
    let upgrade = stage
        .request("GET", "/rpc")?
        .token(&token)
        .header("upgrade", "websocket")
        .header("connection", "upgrade")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let watch = Watch::start(&stage)?;
    let mut open = Vec::new();
    for _ in 0..SOCKETS {
        let mut stream = upgrade.send().await?;
        wait_for_head(&mut stream).await?;
        send_text(&mut stream, &batch).await?;
        open.push(stream);
    }
    tokio::time::sleep(UNREAD).await;
    drop(open);
    watch.end(SOCKETS, "").await
}

async fn wait_for_head(stream: &mut TcpStream) -> anyhow::Result<()> {
    use tokio::io::AsyncReadExt as _;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(())
}

/// Sends a masked text frame.
async fn send_text(stream: &mut TcpStream, text: &str) -> anyhow::Result<()> {
    use tokio::io::AsyncWriteExt as _;
    // The mask of zeros leaves the text as it is.
    let mut frame = vec![0x81, 0x80 | 127];
    frame.extend((text.len() as u64).to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    Ok(stream.write_all(&frame).await?)
}

pub(super) async fn pings_during_batches(attack: &Attack) -> anyhow::Result<Outcome> {
    const CONCURRENT: usize = 30;
    let stage = Arc::new(Stage::set(attack, None).await?);
    stage.documents(8).await?;
    let (_, token) = stage.token("reader", Some(&stage.workspace)).await?;
    let (_, other) = stage.token("reader", Some(&stage.workspace)).await?;
    let session = stage.session(&token, "flood").await?.map_err(anyhow::Error::msg)?;
    let other_session = stage.session(&other, "quiet").await?.map_err(anyhow::Error::msg)?;
    let request = stage.mcp(&token, &session, &batch_of_tools())?;
    let ping = stage.mcp(&other, &other_session, &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))?;
    let watch = Watch::start(&stage)?;
    let flood: Vec<_> = (0..CONCURRENT)
        .map(|_| {
            let request = request.clone();
            tokio::spawn(async move { request.ask().await.map(|answer| answer.status) })
        })
        .collect();
    let mut slowest = Duration::ZERO;
    let mut pings = 0;
    while flood.iter().any(|batch| !batch.is_finished()) {
        let begun = Instant::now();
        ping.ok().await?;
        slowest = slowest.max(begun.elapsed());
        pings += 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut outcome = watch.end(pings, &format!(", `ping` at most {}", show_time(slowest))).await?;
    if slowest > SILENCE {
        outcome.breaches.push(format!("a ping took {}", show_time(slowest)));
    }
    Ok(outcome)
}

pub(super) async fn sessions(attack: &Attack) -> anyhow::Result<Outcome> {
    const TOKENS: usize = 32;
    let stage = Stage::set(attack, None).await?;
    let mut secrets = Vec::new();
    let mut names = Vec::new();
    for _ in 0..TOKENS {
        let (name, secret) = stage.token("reader", Some(&stage.workspace)).await?;
        for _ in 0..32 {
            stage.session(&secret, "one of many").await?.map_err(anyhow::Error::msg)?;
        }
        names.push(name);
        secrets.push(secret);
    }
    let mut breaches = Vec::new();
    let (_, reader) = stage.token("reader", Some(&stage.workspace)).await?;
    for (name, token) in [("the owner", &stage.owner), ("a new reader", &reader)] {
        if let Err(refused) = stage.session(token, "late").await? {
            breaches.push(format!("{name} got no session: {refused}"));
        }
    }
    for name in &names {
        stage.rpc("token/revoke", json!({ "name": name })).await?;
    }
    for (number, secret) in secrets.iter().enumerate() {
        if stage.session(secret, "revoked").await?.is_ok() {
            breaches.push(format!("revoked token {number} started a session"));
        }
    }
    Ok(Outcome::new(TOKENS * 32 + TOKENS + 2, "owner and reader admitted, revoked tokens refused", breaches))
}

pub(super) async fn long_names(attack: &Attack) -> anyhow::Result<Outcome> {
    const SESSIONS: usize = 512;
    let stage = Stage::set(attack, None).await?;
    let (_, token) = stage.token("reader", Some(&stage.workspace)).await?;
    let name = "n".repeat(256 << 10);
    let watch = Watch::start(&stage)?;
    for _ in 0..SESSIONS {
        // Refused or admitted: only the memory counts.
        let _ = stage.session(&token, &name).await?;
    }
    watch.end(SESSIONS, "").await
}
