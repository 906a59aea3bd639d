//! Random calls of every method by every role. Parameters are generated from the methods' schemas. Every call must be
//! answered, no answer may be an internal error, and no caller may see another workspace.

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

pub use report::RandomCallsReport;

use crate::random_calls::invention::{Inventor, Known};
use crate::random_calls::world::World;

/// Calls per method and caller in a round.
const CALLS: usize = 8;
/// Time limit for anything, generous because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Parameters of a run.
pub struct RandomCalls {
    /// `None` for SQLite.
    pub database: Option<Database>,
    pub seed: u64,
    /// Time after which no further round starts. There is always at least one round.
    pub time: Duration,
}

/// Workspaces that a caller's token may access: all, the one with the secret, or another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binding {
    All,
    This,
    Another,
}

impl RandomCalls {
    /// Runs the calls. The error contains the first call whose answer breaks a rule.
    pub async fn run(self) -> anyhow::Result<RandomCallsReport> {
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
        let mut report = RandomCallsReport::default();
        let begun = Instant::now();
        while report.rounds == 0 || begun.elapsed() < self.time {
            for role in Role::ALL {
                for binding in [Binding::All, Binding::This, Binding::Another] {
                    let caller = Caller { role, binding, round: report.rounds };
                    caller
                        .call_every_method(&gateway, &mut inventor, &mut report)
                        .await
                        .with_context(|| format!("seed {}, {caller:?}", self.seed))?;
                }
            }
            report.rounds += 1;
            // The model records every request it receives, which would grow without bound.
            model.take_requests();
        }
        // If most generated parameters were rejected, the run would test little more than the validation.
        ensure!(report.succeeded * 10 > report.calls, "too few calls succeeded: {report}");
        ensure!(report.secrets > 0, "no permitted caller ever saw the secret: {report}");
        Ok(report)
    }
}

/// A caller with its own token.
#[derive(Debug)]
struct Caller {
    role: Role,
    binding: Binding,
    round: u64,
}

impl Caller {
    async fn call_every_method(
        &self,
        gateway: &TestGateway,
        inventor: &mut Inventor,
        report: &mut RandomCallsReport,
    ) -> anyhow::Result<()> {
        // Callers may destroy everything they can access, so each gets its own workspaces.
        let name = format!("{} of {:?}, round {}", self.role, self.binding, self.round);
        let here = World::with_secret(gateway, &format!("here, {name}")).await?;
        let elsewhere = World::new(gateway, &format!("elsewhere, {name}")).await?;
        // Methods about turns need an existing one; without it they would be rejected for that reason alone.
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
                    // Checked in errors as well, because a message that quotes a document would reveal it just the
                    // same.
                    let shows_secret = answer::check(&answer)?;
                    report.secrets += u64::from(shows_secret);
                    ensure!(
                        !shows_secret || self.binding != Binding::Another,
                        "the answer shows another workspace: {answer:?}"
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

/// Calls a method. Errors sent by the gateway are part of the result; the outer error means that there was no answer.
async fn call(client: &Client, method: &str, params: &Value) -> anyhow::Result<Result<Value, ErrorObject>> {
    let answer = tokio::time::timeout(PATIENCE, client.caller().call(method, params)).await;
    match answer.context("there was no answer in time")? {
        Ok(result) => Ok(Ok(result)),
        Err(CallError::Answered(error)) => Ok(Err(error)),
        Err(error) => Err(error).context("there was no answer"),
    }
}
