//! Delivery of one save to a thousand subscribers, compared with writing the same bytes to as many plain sockets.

use std::time::{Duration, Instant};

use client::Client;
use measure::{Effort, Samples, Table, show_count, show_time};
use protocol::method::{DocumentSave, DocumentSaveParams, EventsSubscribe, EventsSubscribeParams};
use protocol::notification::{DocumentChanged, Notification as _};
use protocol::{SaveReason, WorkspaceId};
use test_gateway::TestGateway;
use tokio::sync::mpsc;
use workload::text;

use crate::fan_out::FanOut;
use crate::open_files;

/// Bytes of the notification of a save, with its WebSocket header.
const MESSAGE_BYTES: usize = 512;
/// Files for each subscriber: two ends of a WebSocket and two of a plain socket.
const FILES_EACH: u64 = 4;
/// Files for everything else.
const OTHER_FILES: u64 = 200;

pub(crate) async fn measure(effort: Effort) -> anyhow::Result<()> {
    let allowed = open_files::allow_most();
    let subscribers = effort.choose(50, 1_000).min(allowed.saturating_sub(OTHER_FILES) / FILES_EACH);
    let saves = effort.choose(3, 40);
    let subscribers = usize::try_from(subscribers)?;

    // All subscribers use the owner's token, whose default limit is lower than their number.
    let gateway = TestGateway::start_with(|settings| settings.listener.of_token = subscribers + 1).await?;
    let workspace_id = gateway.workspace("benchmark").await?.id;
    let mut audience = Audience::subscribe(&gateway, &workspace_id, subscribers).await?;
    let mut plain = FanOut::connect(subscribers, vec![b'x'; MESSAGE_BYTES]).await?;

    let mut times = Times::default();
    for number in 0..saves + 1 {
        let sent = Instant::now();
        plain.send().await?;
        let arrivals = receive(&mut plain.arrivals, subscribers).await?;
        let begun = Instant::now();
        let answered = audience.save(&workspace_id, number).await?;
        let told = receive(&mut audience.told, subscribers).await?;
        // The first save does not count: caches are cold, and it also changes the tree.
        if number > 0 {
            times.plain.extend(since(sent, &arrivals));
            times.answered.push(answered - begun);
            times.since_sent.extend(since(begun, &told));
            times.since_answered.extend(since(answered, &told));
        }
    }
    println!(
        "## One save told to {} subscribers, {saves} times\n\n{}",
        show_count(subscribers as u64),
        times.into_table()
    );
    drop((audience, plain));
    gateway.stop().await?;
    Ok(())
}

#[derive(Default)]
struct Times {
    plain: Vec<Duration>,
    answered: Vec<Duration>,
    since_sent: Vec<Duration>,
    since_answered: Vec<Duration>,
}

impl Times {
    fn into_table(self) -> Table<4> {
        let mut table = Table::new(["", "p50", "p99", "max"]);
        for (name, times) in [
            ("plain sockets: written to read", self.plain),
            ("save: sent to answered", self.answered),
            ("notification: save sent to received", self.since_sent),
            ("notification: save answered to received", self.since_answered),
        ] {
            let samples = Samples::new(times);
            let times = [samples.median(), samples.quantile(0.99), samples.max()];
            let [median, p99, longest] = times.map(show_time);
            table.row([name.to_owned(), median, p99, longest]);
        }
        table
    }
}

/// Subscribers, each on its own WebSocket, and a client that saves.
struct Audience {
    editor: Client,
    told: mpsc::UnboundedReceiver<Instant>,
}

impl Audience {
    async fn subscribe(
        gateway: &TestGateway,
        workspace_id: &WorkspaceId,
        subscribers: usize,
    ) -> anyhow::Result<Self> {
        let (tell, told) = mpsc::unbounded_channel();
        for _ in 0..subscribers {
            let mut client = gateway.owner().await?;
            let params =
                EventsSubscribeParams { workspace_id: workspace_id.clone(), since: None, instance: None };
            client.call::<EventsSubscribe>(&params).await?;
            let tell = tell.clone();
            tokio::spawn(async move {
                while let Some(notification) = client.notification().await {
                    // The first save also changes the tree, which produces a second notification.
                    let is_save = notification.method == DocumentChanged::NAME;
                    if is_save && tell.send(Instant::now()).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { editor: gateway.owner().await?, told })
    }

    /// Saves and returns the time of the answer.
    async fn save(&self, workspace_id: &WorkspaceId, number: u64) -> anyhow::Result<Instant> {
        let params = DocumentSaveParams {
            workspace_id: workspace_id.clone(),
            folder_id: None,
            content: text(number),
            expected_version: None,
            save_reason: Some(SaveReason::Autosave),
            message: None,
        };
        self.editor.call::<DocumentSave>(&params).await?;
        Ok(Instant::now())
    }
}

async fn receive(
    arrivals: &mut mpsc::UnboundedReceiver<Instant>,
    count: usize,
) -> anyhow::Result<Vec<Instant>> {
    let mut received = Vec::with_capacity(count);
    while received.len() < count {
        let arrival = tokio::time::timeout(Duration::from_secs(30), arrivals.recv()).await?;
        received.push(arrival.ok_or_else(|| anyhow::anyhow!("the connections ended"))?);
    }
    Ok(received)
}

/// Returns the times since `start`; earlier arrivals count as zero.
fn since(start: Instant, arrivals: &[Instant]) -> impl Iterator<Item = Duration> {
    arrivals.iter().map(move |arrival| arrival.saturating_duration_since(start))
}
