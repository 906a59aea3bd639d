//! The clients: some save and read, some ask the model, some only listen.

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
use crate::load::{Kind, PATIENCE, Tally};

/// Of so many clients of a workspace, one asks the model, one only listens, and the others save and read.
pub(crate) const ROLES: usize = 10;
/// Clients that connect at the same time: fewer than may be without a token.
const AT_ONCE: usize = 32;

/// Somebody who makes calls.
struct Worker {
    place: Arc<LoadedWorkspace>,
    /// None after the connection was lost.
    client: Option<Client>,
    /// The thread of one who asks the model; the others save and read.
    thread_id: Option<ThreadId>,
    chance: Chance,
}

/// Everybody who is connected.
pub(crate) struct Crowd {
    workers: Vec<Worker>,
    followers: JoinSet<anyhow::Result<u64>>,
    ends: Vec<watch::Sender<Option<Sequence>>>,
}

impl Crowd {
    /// Lets them all in; those who ask the model do so once.
    pub(crate) async fn connect(
        stage: &Arc<Stage>,
        connections: usize,
        chance: &mut Chance,
    ) -> anyhow::Result<Self> {
        let mut ends = Vec::new();
        let mut since = Vec::new();
        for place in &stage.places {
            ends.push(watch::channel(None).0);
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
        let followers: Vec<_> = stream::iter(followers).buffered(AT_ONCE).try_collect().await?;
        let followers = followers.into_iter().map(Follower::follow).collect();
        let workers = stream::iter(workers).buffered(AT_ONCE).try_collect().await?;
        Ok(Self { workers, followers, ends })
    }

    pub(crate) fn subscriber_count(&self) -> usize {
        self.followers.len()
    }

    /// Everybody makes calls, together so many a second for a time.
    pub(crate) async fn work(&mut self, rate: f64, time: Duration) -> anyhow::Result<Tally> {
        let askers = self.workers.iter().filter(|worker| worker.thread_id.is_some()).count();
        let callers = self.workers.len() - askers;
        let turns = rate * Kind::turn_share() as f64 / 100.0;
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

    /// Waits until every subscriber was told everything, and hangs up; says how many changes were told.
    pub(crate) async fn leave(mut self, stage: &Stage) -> anyhow::Result<u64> {
        for (place, end) in stage.places.iter().zip(&self.ends) {
            // Nobody listens where there are fewer clients than workspaces.
            let _ = end.send(Some(stage.newest_change(place).await?));
        }
        let mut told = 0;
        while let Some(ended) = tokio::time::timeout(PATIENCE, self.followers.join_next())
            .await
            .context("a subscriber did not get everything in time")?
        {
            told += ended??;
        }
        Ok(told)
    }
}

impl Worker {
    async fn arrive(mut self) -> anyhow::Result<Self> {
        self.connect().await.map_err(|problem| anyhow::anyhow!("could not connect: {}", problem.told()))?;
        if self.thread_id.is_some() {
            self.make(Kind::Turn)
                .await
                .map_err(|problem| anyhow::anyhow!("a first turn: {}", problem.told()))?;
        }
        Ok(self)
    }

    async fn connect(&mut self) -> Result<(), Problem> {
        let client = Client::connect(&self.place.target).await?;
        if self.thread_id.is_some() {
            let params = EventsSubscribeParams { workspace_id: self.place.workspace_id.clone(), since: None };
            client.call::<EventsSubscribe>(&params).await?;
        }
        self.client = Some(client);
        Ok(())
    }

    /// Makes calls until a moment, one about every so often.
    async fn work(mut self, every: Duration, from: Instant, until: Instant) -> (Self, Tally) {
        let mut tally = Tally::default();
        let mut due = from + self.chance.time(Duration::ZERO, every);
        while due < until {
            tokio::time::sleep_until(due.into()).await;
            if Instant::now() < until {
                let kind = match self.thread_id {
                    Some(_) => Kind::Turn,
                    None => Kind::at_random(&mut self.chance),
                };
                let outcome = self.make(kind).await;
                tally.count(kind, due.elapsed(), outcome);
            } else {
                tally.not_made += 1;
            }
            due += self.chance.time(every / 2, every * 3 / 2);
        }
        (self, tally)
    }

    async fn make(&mut self, kind: Kind) -> Result<(), Problem> {
        let made =
            tokio::time::timeout(PATIENCE, self.attempt(kind)).await.unwrap_or(Err(Problem::Unanswered));
        if matches!(made, Err(Problem::Client(client::ClientError::Lost) | Problem::Unanswered)) {
            self.client = None;
        }
        made
    }

    async fn attempt(&mut self, kind: Kind) -> Result<(), Problem> {
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
