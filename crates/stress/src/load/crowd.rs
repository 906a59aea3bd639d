//! The clients: most save and read, some start turns, some only subscribe.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use chance::Chance;
use client::Client;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use protocol::method::{EventsSubscribe, EventsSubscribeParams};
use protocol::{Sequence, ThreadId};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::load::call::{ask, call};
use crate::load::follower::Follower;
use crate::load::stage::{LoadedWorkspace, Stage};
use crate::load::tally::Problem;
use crate::load::{CallKind, PATIENCE, Tally};

/// Out of this many clients of a workspace, one starts turns, one only subscribes, and the others save and read.
pub(crate) const ROLES: usize = 10;
/// Clients that connect concurrently, fewer than the limit of unauthenticated connections.
const CONCURRENT: usize = 32;

/// A client that makes calls.
struct Worker {
    place: Arc<LoadedWorkspace>,
    /// `None` after the connection was lost.
    client: Option<Client>,
    /// Thread for turns; `None` for clients that save and read.
    thread_id: Option<ThreadId>,
    chance: Chance,
}

/// All connected clients.
pub(crate) struct Crowd {
    workers: Vec<Worker>,
    followers: JoinSet<anyhow::Result<u64>>,
    ends: Vec<watch::Sender<Option<Sequence>>>,
}

impl Crowd {
    /// Connects all clients. Those that start turns run one turn each, so that later calls find one.
    pub(crate) async fn connect(
        stage: &Arc<Stage>,
        connections: usize,
        chance: &mut Chance,
    ) -> anyhow::Result<Self> {
        let mut ends = Vec::new();
        let mut since = Vec::new();
        for place in &stage.places {
            ends.push(watch::channel(None).0);
            // Read before the first call, so that subscribers know from where to count.
            since.push(stage.newest_change(place).await?);
        }
        let mut workers = Vec::new();
        let mut followers = Vec::new();
        for number in 0..connections {
            let workspace = number % stage.places.len();
            let index = number / stage.places.len();
            let place = Arc::clone(&stage.places[workspace]);
            let thread_id = match index % ROLES {
                0 => Some(place.threads[index / ROLES].clone()),
                1 => {
                    followers.push(Follower::begin(place, since[workspace], ends[workspace].subscribe()));
                    continue;
                }
                _ => None,
            };
            workers.push(Worker { place, client: None, thread_id, chance: chance.fork() }.arrive());
        }
        let followers: Vec<_> = stream::iter(followers).buffered(CONCURRENT).try_collect().await?;
        let followers = followers.into_iter().map(Follower::follow).collect();
        let workers = stream::iter(workers).buffered(CONCURRENT).try_collect().await?;
        Ok(Self { workers, followers, ends })
    }

    pub(crate) fn subscriber_count(&self) -> usize {
        self.followers.len()
    }

    /// Lets all clients make calls at a combined rate for some time.
    pub(crate) async fn work(&mut self, rate: f64, time: Duration) -> anyhow::Result<Tally> {
        let askers = self.workers.iter().filter(|worker| worker.thread_id.is_some()).count();
        let callers = self.workers.len() - askers;
        let turns = rate * CallKind::turn_share() as f64 / 100.0;
        let every =
            |people: usize, rate: f64| Duration::from_secs_f64(people as f64 / rate.max(f64::EPSILON));
        let ask_every = every(askers, turns);
        let call_every = every(callers, rate - turns);
        let begun = Instant::now();
        let mut working = JoinSet::new();
        for worker in self.workers.drain(..) {
            let pause = if worker.thread_id.is_some() { ask_every } else { call_every };
            working.spawn(worker.work(pause, begun, begun + time));
        }
        let mut tally = Tally::of(time);
        while let Some(ended) = working.join_next().await {
            let (worker, own) = ended?;
            self.workers.push(worker);
            tally.merge(own);
        }
        if let Some(ended) = self.followers.try_join_next() {
            ended?.context("a subscriber ended early")?;
        }
        Ok(tally)
    }

    /// Waits until every subscriber has received all changes, disconnects, and returns the number of changes.
    pub(crate) async fn leave(mut self, stage: &Stage) -> anyhow::Result<u64> {
        for (place, end) in stage.places.iter().zip(&self.ends) {
            // Sending fails for workspaces without a subscriber, which exist if there are few clients.
            let _ = end.send(Some(stage.newest_change(place).await?));
        }
        let mut received = 0;
        while let Some(ended) = tokio::time::timeout(PATIENCE, self.followers.join_next())
            .await
            .context("a subscriber did not get everything in time")?
        {
            received += ended??;
        }
        Ok(received)
    }
}

impl Worker {
    async fn arrive(mut self) -> anyhow::Result<Self> {
        self.connect()
            .await
            .map_err(|problem| anyhow::anyhow!("could not connect: {}", problem.message()))?;
        if self.thread_id.is_some() {
            self.make(CallKind::Turn)
                .await
                .map_err(|problem| anyhow::anyhow!("a first turn: {}", problem.message()))?;
        }
        Ok(self)
    }

    async fn connect(&mut self) -> Result<(), Problem> {
        let client = Client::connect(&self.place.target).await?;
        if self.thread_id.is_some() {
            let params = EventsSubscribeParams {
                workspace_id: self.place.workspace_id.clone(),
                since: None,
                instance: None,
            };
            client.call::<EventsSubscribe>(&params).await?;
        }
        self.client = Some(client);
        Ok(())
    }

    /// Makes calls at random intervals around `every` until `until`.
    async fn work(mut self, every: Duration, from: Instant, until: Instant) -> (Self, Tally) {
        let mut tally = Tally::default();
        // A random first moment spreads the clients. Otherwise all would call at the start of every interval.
        let mut due = from + self.chance.time(Duration::ZERO, every);
        while due < until {
            tokio::time::sleep_until(due.into()).await;
            if Instant::now() < until {
                let kind = match self.thread_id {
                    Some(_) => CallKind::Turn,
                    None => CallKind::draw(&mut self.chance),
                };
                let outcome = self.make(kind).await;
                tally.count(kind, due.elapsed(), outcome);
            } else {
                tally.not_made += 1;
            }
            // Counted from the moment the call was due, not from its end: a slow gateway must not lower the rate.
            due += self.chance.time(every / 2, every * 3 / 2);
        }
        (self, tally)
    }

    async fn make(&mut self, kind: CallKind) -> Result<(), Problem> {
        let made =
            tokio::time::timeout(PATIENCE, self.attempt(kind)).await.unwrap_or(Err(Problem::Unanswered));
        // The next call connects again, as a real client would.
        if matches!(made, Err(Problem::Client(client::ClientError::Lost) | Problem::Unanswered)) {
            self.client = None;
        }
        made
    }

    async fn attempt(&mut self, kind: CallKind) -> Result<(), Problem> {
        if self.client.is_none() {
            self.connect().await?;
        }
        let Some(client) = &mut self.client else { return Err(Problem::Unanswered) };
        match &self.thread_id {
            Some(thread_id) => ask(client, &self.place, thread_id).await,
            None => call(client, kind, &self.place, &mut self.chance).await,
        }
    }
}
