//! A client that starts turns over a WebSocket and receives their events.

use std::time::Instant;

use anyhow::Context as _;
use client::Client;
use protocol::method::{
    EventsSubscribe, EventsSubscribeParams, ThreadCreate, ThreadCreateParams, TurnResult, TurnStart,
    TurnStartParams, WorkspaceCreate, WorkspaceCreateParams,
};
use protocol::notification::{Notification as _, TurnCompleted, TurnDelta, TurnFailed};
use protocol::{Method as _, ThreadId, ThreadMode, WorkspaceId};

/// A connection that follows its own workspace, so that it receives no events of other turns.
pub(crate) struct Talker {
    client: Client,
    workspace_id: WorkspaceId,
    /// Unused threads.
    pub(crate) unused: Vec<ThreadId>,
}

/// Arrival times of a turn's events.
pub(crate) struct Heard {
    pub(crate) sent: Instant,
    /// Time of the answer to `turn/start`.
    pub(crate) answered: Instant,
    pub(crate) deltas: Vec<(Instant, String)>,
    /// Time at which the turn was known to have ended.
    pub(crate) completed: Instant,
}

impl Heard {
    pub(crate) fn first(&self) -> anyhow::Result<Instant> {
        Ok(self.deltas.first().context("the answer had no deltas")?.0)
    }
}

impl Talker {
    /// Creates a workspace with the given number of threads.
    pub(crate) async fn new(client: Client, threads: usize) -> anyhow::Result<Self> {
        let name = format!("benchmark {}", protocol::WorkspaceId::new());
        let params = WorkspaceCreateParams { name, root_path: None, agents: None };
        let workspace_id = client.call::<WorkspaceCreate>(&params).await?.workspace.id;
        let mut unused = Vec::with_capacity(threads);
        for number in 0..threads {
            let params = ThreadCreateParams {
                workspace_id: workspace_id.clone(),
                folder_id: None,
                title: format!("What the thread number {number} is about"),
                mode: ThreadMode::Chat,
            };
            unused.push(client.call::<ThreadCreate>(&params).await?.thread.id);
        }
        let params =
            EventsSubscribeParams { workspace_id: workspace_id.clone(), since: None, instance: None };
        client.call::<EventsSubscribe>(&params).await?;
        Ok(Self { client, workspace_id, unused })
    }

    /// Takes an unused thread.
    pub(crate) fn next_thread(&mut self) -> anyhow::Result<ThreadId> {
        self.unused.pop().context("there are too few threads")
    }

    /// Starts a turn without waiting for its end.
    pub(crate) async fn start(&self, thread_id: &ThreadId, input: &str) -> anyhow::Result<()> {
        self.client.call::<TurnStart>(&self.params(thread_id, input)).await?;
        Ok(())
    }

    /// Starts a turn and listens until it is over.
    pub(crate) async fn ask(&mut self, thread_id: &ThreadId, input: &str) -> anyhow::Result<Heard> {
        let params = self.params(thread_id, input);
        let caller = self.client.caller().clone();
        let sent = Instant::now();
        let start = async {
            caller.call::<TurnResult>(TurnStart::NAME, &params).await?;
            anyhow::Ok(Instant::now())
        };
        // Deltas may overtake the answer, so both are awaited concurrently.
        let (answered, (deltas, completed)) = tokio::try_join!(start, listen(&mut self.client))?;
        Ok(Heard { sent, answered, deltas, completed })
    }

    fn params(&self, thread_id: &ThreadId, input: &str) -> TurnStartParams {
        TurnStartParams::new(&self.workspace_id, thread_id, input)
    }
}

async fn listen(client: &mut Client) -> anyhow::Result<(Vec<(Instant, String)>, Instant)> {
    let mut deltas = Vec::new();
    loop {
        let notification = client.notification().await.context("the connection ended")?;
        let now = Instant::now();
        match notification.method.as_str() {
            TurnDelta::NAME => {
                let delta: TurnDelta = serde_json::from_str(notification.params.get())?;
                deltas.push((now, delta.text));
            }
            TurnCompleted::NAME => return Ok((deltas, now)),
            TurnFailed::NAME => anyhow::bail!("a turn failed: {}", notification.params),
            _ => {}
        }
    }
}
