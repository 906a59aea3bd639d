//! Long answers: the delay of each delta, and the rate of all of them if the model does not pause.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use measure::Effort;
use provider::{ChatEvent, ChatRequest, Message, Provider};
use scripted_model::{Answer, ScriptedModel};
use test_gateway::TestGateway;

use crate::clock::{Clock, Pace};
use crate::model::{self, Asked, MODEL};
use crate::rows::Rows;
use crate::talker::Talker;

const DELTAS: usize = 500;
const PAUSE: Duration = Duration::from_millis(2);
const WARM_UP: usize = 1;
const INPUT: &str = "Tell me everything.";

const ALONE: &str = "provider crate";
const TURN: &str = "turn/delta";

pub(crate) async fn measure(effort: Effort) -> anyhow::Result<()> {
    paced(effort.choose(1, 10)).await?;
    at_once(effort.choose(3, 100)).await
}

/// Measures the time from the model's write of a delta to its arrival.
async fn paced(answers: usize) -> anyhow::Result<()> {
    let clock = Clock::start(Pace { deltas: DELTAS, pause: PAUSE }).await?;
    let mut sides = Sides::new(clock.provider()?, answers).await?;
    let ages = |deltas: Vec<(Instant, String)>| {
        let ages = deltas.into_iter().map(|(seen, text)| clock.age(&text, seen));
        ages.collect::<anyhow::Result<Vec<Duration>>>()
    };
    let mut rows = Rows::new([ALONE, TURN]);
    for number in 0..answers + WARM_UP {
        let alone = ages(sides.alone().await?)?;
        let turn = ages(sides.turn().await?)?;
        if number >= WARM_UP {
            rows.extend([alone, turn]);
        }
    }
    let table = rows.compared();
    println!(
        "## From written by the model to seen: {DELTAS} deltas {PAUSE:?} apart, {answers} times\n\n{table}"
    );
    sides.gateway.stop().await?;
    Ok(())
}

/// Measures the time from the request to the last delta, divided by the number of deltas.
async fn at_once(answers: usize) -> anyhow::Result<()> {
    let model = ScriptedModel::start().await?;
    let said = "word ".repeat(DELTAS);
    let asked = Asked::note(&model, move |_| Answer::text(&said).in_deltas(DELTAS));
    let mut sides = Sides::new(model::provider(&model)?, answers).await?;
    let each = |deltas: &[(Instant, String)]| {
        let last = deltas.last().map_or_else(Duration::default, |(seen, _)| *seen - asked.last());
        last / DELTAS as u32
    };
    let mut rows = Rows::new([ALONE, TURN]);
    for number in 0..answers + WARM_UP {
        let alone = each(&sides.alone().await?);
        let turn = each(&sides.turn().await?);
        if number >= WARM_UP {
            rows.push([alone, turn]);
        }
    }
    let table = rows.compared();
    println!("## Time for each of {DELTAS} deltas that come at once, {answers} times\n\n{table}");
    sides.gateway.stop().await?;
    Ok(())
}

/// The same provider asked without a gateway and with one.
struct Sides {
    provider: Provider,
    gateway: TestGateway,
    talker: Talker,
}

impl Sides {
    async fn new(provider: Provider, answers: usize) -> anyhow::Result<Self> {
        let gateway = TestGateway::start_with(|settings| model::install(settings, provider.clone())).await?;
        let talker = Talker::new(gateway.owner().await?, answers + WARM_UP).await?;
        Ok(Self { provider, gateway, talker })
    }

    /// Returns the arrival times of an answer's deltas without a gateway.
    async fn alone(&self) -> anyhow::Result<Vec<(Instant, String)>> {
        let request = ChatRequest::new(MODEL, vec![Message::user(INPUT)]);
        let mut stream = self.provider.chat(&request);
        let mut deltas = Vec::with_capacity(DELTAS);
        while let Some(event) = stream.next().await {
            if let ChatEvent::TextDelta { text } = event? {
                deltas.push((Instant::now(), text));
            }
        }
        all(deltas)
    }

    /// Returns the arrival times through the gateway, in a new thread.
    async fn turn(&mut self) -> anyhow::Result<Vec<(Instant, String)>> {
        let thread = self.talker.next_thread()?;
        all(self.talker.ask(&thread, INPUT).await?.deltas)
    }
}

fn all(deltas: Vec<(Instant, String)>) -> anyhow::Result<Vec<(Instant, String)>> {
    anyhow::ensure!(deltas.len() == DELTAS, "of {DELTAS} deltas {} were seen", deltas.len());
    Ok(deltas)
}
