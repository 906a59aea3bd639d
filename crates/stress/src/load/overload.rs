//! Load past the limits: more calls than the machine can answer, and more connections and turns than are allowed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use client::{Client, Target};
use protocol::method::{
    ThreadCreate, ThreadCreateParams, TurnCancel, TurnGetParams, TurnStart, TurnStartParams, WorkspaceList,
    WorkspaceListParams,
};
use protocol::{ErrorSubject, ThreadMode, TurnId, WorkspaceId};
use scripted_model::Answer;
use tokio::net::TcpStream;

use crate::load::crowd::Crowd;
use crate::load::stage::{self, LoadedWorkspace, RESERVED, Stage};
use crate::load::tally::Problem;
use crate::load::{PATIENCE, Tally};

/// Fraction of the rate that must be answered, nearly all of it within [`TOO_LONG`].
const KEEPS_UP: f64 = 0.9;
const TOO_LONG: Duration = Duration::from_secs(1);
/// Each rate doubles the previous one, so this exceeds what today's machines can answer.
const MOST_STEPS: u32 = 10;
/// Number of connections that never send anything.
const SILENT: usize = 4 * RESERVED;

/// Result at one rate.
#[derive(Debug)]
pub struct RateStep {
    /// Intended calls per second.
    pub rate: u32,
    pub tally: Tally,
}

impl RateStep {
    fn keeps_up(&self) -> bool {
        let answered = self.tally.all();
        self.tally.problems.is_empty()
            && self.tally.rate(answered.count()) >= KEEPS_UP * f64::from(self.rate)
            && answered.quantile(0.99) < TOO_LONG
    }
}

/// Behavior at one limit.
#[derive(Debug)]
pub struct Refusal {
    /// Description of the attempt.
    pub wanted: String,
    /// Message the client received.
    pub message: String,
    /// Answer of `/readyz` afterwards.
    pub ready: String,
}

pub(crate) async fn overload(
    stage: &Arc<Stage>,
    mut crowd: Crowd,
    rate: u32,
    time: Duration,
) -> anyhow::Result<(Vec<RateStep>, Vec<Refusal>)> {
    let mut steps = Vec::new();
    for doubled in 1..=MOST_STEPS {
        let rate = rate.saturating_mul(1 << doubled);
        let step = RateStep { rate, tally: crowd.work(f64::from(rate), time).await? };
        let keeps_up = step.keeps_up();
        steps.push(step);
        if !keeps_up {
            break;
        }
    }
    // While the crowd is still connected: it fills the regular places, so that a few more connections reach the limit.
    let mut refusals = connections(stage).await?;
    crowd.leave(stage).await?;
    refusals.push(silent_sockets(stage).await?);
    refusals.extend(turns(stage).await?);
    Ok((steps, refusals))
}

/// Opens connections until they are rejected, first for operators, then for owners.
async fn connections(stage: &Stage) -> anyhow::Result<Vec<Refusal>> {
    let mut held = Vec::new();
    let operators = stage.places.first().context("no workspace")?.target.clone();
    let (more, message) = connect_until_refused(&operators, &mut held).await?;
    let wanted = format!("connections of operators: {more} more were let in, then one more");
    let for_operators = Refusal { wanted, message, ready: stage.readiness().await };
    let (more, message) = connect_until_refused(&stage.gateway.target(), &mut held).await?;
    let wanted = format!("connections of owners: {more} more were let in, then one more");
    // Existing connections must still be served. The readiness check needs a connection too, so it is made while the
    // limit is reached.
    for client in &held {
        client.call::<WorkspaceList>(&WorkspaceListParams::default()).await?;
    }
    let message = format!("{message} (/readyz meanwhile: {})", stage.readiness().await);
    drop(held);
    let ready = stage.wait_until_ready().await;
    Ok(vec![for_operators, Refusal { wanted, message, ready }])
}

async fn connect_until_refused(target: &Target, held: &mut Vec<Client>) -> anyhow::Result<(usize, String)> {
    for more in 0..=4 * RESERVED {
        match Client::connect(target).await {
            Ok(client) => held.push(client),
            Err(error) => return Ok((more, error.to_string())),
        }
    }
    anyhow::bail!("{} connections more than the limit leaves places for were let in", 4 * RESERVED)
}

/// Opens idle sockets. The oldest must be closed, and a client with a token must be able to connect.
async fn silent_sockets(stage: &Stage) -> anyhow::Result<Refusal> {
    let address = stage.gateway.target().locate()?.url;
    let address = address.trim_start_matches("http://");
    let mut silent = Vec::new();
    for _ in 0..SILENT {
        silent.push(TcpStream::connect(address).await?);
    }
    let begun = Instant::now();
    let is_closed = |stream: &TcpStream| matches!(stream.try_read(&mut [0; 64]), Ok(0));
    let mut closed = 0;
    while closed < SILENT - RESERVED && begun.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let open = silent.len();
        silent.retain(|stream| !is_closed(stream));
        closed += open - silent.len();
    }
    let owner = Client::connect(&stage.gateway.target()).await;
    let message = match owner {
        Ok(_) => format!(
            "{closed} of them were closed without a word, the oldest first; an owner got in beside the rest"
        ),
        Err(error) => format!("{closed} of them were closed; an owner was refused: {error}"),
    };
    let wanted = format!("{SILENT} sockets that show no token");
    Ok(Refusal { wanted, message, ready: stage.readiness().await })
}

/// Starts turns with a model that never answers until they are rejected.
async fn turns(stage: &Stage) -> anyhow::Result<Vec<Refusal>> {
    // Turns that never end on their own, or the first ones would be over before the limit is reached.
    stage.model.answer_by(|_| Answer::silence());
    let mut running: Vec<(WorkspaceId, TurnId)> = Vec::new();
    let mut of_workspace = None;
    let mut of_gateway = None;
    for place in &stage.places {
        let before = running.len();
        let refused = start_until_refused(&stage.owner, place, &mut running).await?;
        let what = match &refused {
            Problem::Client(client::ClientError::Refused(error)) => {
                error.data.as_ref().and_then(|data| data.what)
            }
            _ => None,
        };
        let (found, of) = match what {
            Some(ErrorSubject::Turns) => (&mut of_gateway, "of the gateway"),
            _ => (&mut of_workspace, "of a workspace"),
        };
        if found.is_none() {
            let count = if of == "of a workspace" { running.len() - before } else { running.len() };
            let wanted = format!("turns {of}: {count} ran, then one more");
            *found = Some(Refusal { wanted, message: refused.message(), ready: stage.readiness().await });
        }
        if of_gateway.is_some() {
            break;
        }
    }
    for (workspace_id, turn_id) in running {
        stage.owner.call::<TurnCancel>(&TurnGetParams { workspace_id, turn_id }).await?;
    }
    let begun = Instant::now();
    while stage.owner.call::<WorkspaceList>(&WorkspaceListParams::default()).await?.running_turns.is_some() {
        ensure!(begun.elapsed() < PATIENCE, "turns run on although they were cancelled");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stage::answer(&stage.model);
    Ok(of_workspace.into_iter().chain(of_gateway).collect())
}

async fn start_until_refused(
    owner: &Client,
    place: &LoadedWorkspace,
    running: &mut Vec<(WorkspaceId, TurnId)>,
) -> anyhow::Result<Problem> {
    loop {
        let params = ThreadCreateParams {
            workspace_id: place.workspace_id.clone(),
            folder_id: None,
            title: "one turn too many".to_owned(),
            mode: ThreadMode::Chat,
        };
        let thread_id = owner.call::<ThreadCreate>(&params).await?.thread.id;
        match owner.call::<TurnStart>(&TurnStartParams::new(&place.workspace_id, &thread_id, "Hello")).await {
            Ok(started) => running.push((place.workspace_id.clone(), started.turn.id)),
            Err(error) => return Ok(error.into()),
        }
    }
}
