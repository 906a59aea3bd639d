//! Calls of every method by every role, with parameters made at random from the method's own schema: each is answered, no
//! answer is the gateway's own failure, and nobody is shown another workspace.

mod answer;
mod invention;
mod report;
mod world;

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use chance::Chance;
use client::Client;
use gateway::{Database, GatewaySettings};
use protocol::error::ErrorObject;
use protocol::method::METHODS;
use protocol::{Role, WorkspaceId};
use provider::{Provider, ProviderConfig, ProviderKind};
use rpc::CallError;
use scripted_model::{Answer, ScriptedModel, Wire};
use serde_json::Value;
use test_gateway::TestGateway;

pub use report::Report;

use crate::random_calls::invention::{Inventor, Known};
use crate::random_calls::world::World;

/// Calls of each method by each caller, in a round.
const CALLS: usize = 8;
/// How long anything may take; a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// What to run.
pub struct RandomCalls {
    /// None: SQLite.
    pub database: Option<Database>,
    pub seed: u64,
    /// After this no further round begins; there is always one, in which everybody calls everything.
    pub time: Duration,
}

/// To which workspaces a caller's token is bound: all of them, the one with the secret, or another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binding {
    All,
    This,
    Another,
}

impl RandomCalls {
    /// Runs it; the error says which call was answered with what it must not be answered with.
    pub async fn run(self) -> anyhow::Result<Report> {
        let model = ScriptedModel::start().await?;
        model.answer_by(|_| Answer::text("yes"));
        let mut config =
            ProviderConfig::new("scripted", ProviderKind::Anthropic, model.base_url(Wire::Anthropic));
        config.api_key = Some("key-of-the-calls".to_owned().into());
        let provider = Provider::new(config)?;
        let gateway = TestGateway::start_with(|settings: &mut GatewaySettings| {
            settings.agent.providers = [provider].into_iter().collect();
            settings.agent.default_model = Some("scripted/claude-opus-5".to_owned());
            settings.database = self.database;
        })
        .await?;
        let mut inventor = Inventor::new(Chance::new(self.seed));
        let mut report = Report::default();
        let begun = Instant::now();
        while report.rounds == 0 || begun.elapsed() < self.time {
            for role in Role::ALL {
                for binding in [Binding::All, Binding::This, Binding::Another] {
                    let caller = Caller { role, binding, round: report.rounds };
                    caller
                        .call_everything(&gateway, &mut inventor, &mut report)
                        .await
                        .with_context(|| format!("seed {}, {caller:?}", self.seed))?;
                }
            }
            report.rounds += 1;
            // Everything that was ever said would be kept.
            model.take_requests();
        }
        // Enough of what is invented must get past the parameters, or little is tried.
        ensure!(report.succeeded * 10 > report.calls, "too little succeeded: {report}");
        ensure!(report.secrets > 0, "those who may see the secret never did: {report}");
        Ok(report)
    }
}

/// Somebody with a token of their own.
#[derive(Debug)]
struct Caller {
    role: Role,
    binding: Binding,
    round: u64,
}

impl Caller {
    async fn call_everything(
        &self,
        gateway: &TestGateway,
        inventor: &mut Inventor,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        // Whoever is asking may destroy everything that it finds.
        let name = format!("{} of {:?}, round {}", self.role, self.binding, self.round);
        let here = World::with_secret(gateway, &format!("here, {name}")).await?;
        let elsewhere = World::new(gateway, &format!("elsewhere, {name}")).await?;
        let turn = gateway.silent_turn(&here.workspace_id, &here.thread_id).await?;
        let known = Known::of(&[&here, &elsewhere], turn.as_str());
        let client = self.connect(gateway, &name, &here.workspace_id, &elsewhere.workspace_id).await?;
        let schemas = protocol::schema::all();
        for method in METHODS {
            let schema = serde_json::to_value(&schemas[method.params_type])?;
            for _ in 0..CALLS {
                let params = inventor.params(&schema, &known);
                let answered = call(&client, method.name, &params).await;
                let checked = answered.and_then(|answer| {
                    report.count(&answer);
                    let shows_secret = answer::check(&answer)?;
                    report.secrets += u64::from(shows_secret);
                    ensure!(
                        !shows_secret || self.binding != Binding::Another,
                        "it shows another workspace: {answer:?}"
                    );
                    Ok(())
                });
                checked.with_context(|| format!("{}: {params}", method.name))?;
            }
        }
        Ok(())
    }

    async fn connect(
        &self,
        gateway: &TestGateway,
        name: &str,
        here: &WorkspaceId,
        elsewhere: &WorkspaceId,
    ) -> anyhow::Result<Client> {
        let bound_to = match self.binding {
            Binding::All => None,
            Binding::This => Some(here.clone()),
            Binding::Another => Some(elsewhere.clone()),
        };
        let secret = gateway.token(name, self.role, bound_to).await?;
        Ok(Client::connect(&gateway.target_of(&secret)).await?)
    }
}

/// Calls a method; the error is one that no answer is.
async fn call(client: &Client, method: &str, params: &Value) -> anyhow::Result<Result<Value, ErrorObject>> {
    let answer = tokio::time::timeout(PATIENCE, client.caller().call(method, params)).await;
    match answer.context("it was not answered in time")? {
        Ok(result) => Ok(Ok(result)),
        Err(CallError::Answered(error)) => Ok(Err(error)),
        Err(error) => Err(error).context("it was not answered"),
    }
}
