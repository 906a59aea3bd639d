//! Gateways on one PostgreSQL whose clocks are a minute apart: none takes a turn of another for dead.

use std::io::Write as _;
use std::time::{Duration, Instant};

use client::Client;
use gateway_process::{ClockShift, GatewayProcess, Launch, check_clock};
use protocol::TurnStatus;
use protocol::method::{
    ThreadCreate, ThreadCreateParams, TurnGet, TurnPageParams, TurnStart, TurnStartParams, WorkspaceCreate,
    WorkspaceCreateParams,
};
use scripted_model::{Answer, ScriptedModel, Wire};
use test_postgres::test_database;

use crate::support::{FOREWORD, PATIENCE};

// Each pair of clocks differs by at least the length of a lease, so a gateway that compared times of
// different machines would take over a running turn.
const SHIFTS: [i64; 3] = [-60, 0, 60];
/// Gateways look for dead turns every five seconds: each must have looked at those of the others.
const ANSWER_PIECES: usize = 120;
const PIECE_EVERY: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread")]
async fn turns_survive_gateways_whose_clocks_are_a_minute_apart() {
    let Some(database) = test_database() else { return };
    let Some(clock) = ClockShift::find() else {
        // CI must not skip this test silently when the package is missing from its image.
        assert!(
            std::env::var_os("CI").is_none_or(|value| value != "true"),
            "CI needs Debian's package `faketime`"
        );
        let _ = writeln!(std::io::stderr(), "libfaketime is not installed: skipping this test");
        return;
    };
    let model = ScriptedModel::start().await.unwrap();
    let text = "word ".repeat(ANSWER_PIECES);
    model.answer_by(move |_| Answer::text(&text).in_deltas(ANSWER_PIECES).drip(PIECE_EVERY));
    let mut launch = Launch::new(FOREWORD).flag("--database", database.url());
    launch.configuration = format!(
        "[model]\ndefault = 'anthropic/m'\n[providers.anthropic]\nbase_url = '{}'\n",
        model.base_url(Wire::Anthropic)
    );
    launch.variables.push(("ANTHROPIC_API_KEY", "key".into()));
    let gateways: Vec<GatewayProcess> = SHIFTS
        .iter()
        .map(|seconds| {
            let launch = clock.apply(launch.clone(), *seconds);
            tokio::task::block_in_place(|| GatewayProcess::start(launch)).unwrap()
        })
        .collect();

    let mut running = Vec::new();
    for (gateway, seconds) in gateways.iter().zip(SHIFTS) {
        let client = Client::connect(&gateway.target()).await.unwrap();
        let workspace =
            WorkspaceCreateParams { name: format!("{seconds} s"), ..WorkspaceCreateParams::default() };
        let workspace_id = client.call::<WorkspaceCreate>(&workspace).await.unwrap().workspace.id;
        let thread = ThreadCreateParams {
            workspace_id: workspace_id.clone(),
            folder_id: None,
            title: "a long answer".to_owned(),
            mode: protocol::ThreadMode::Chat,
        };
        let thread_id = client.call::<ThreadCreate>(&thread).await.unwrap().thread.id;
        let start = TurnStartParams::new(&workspace_id, &thread_id, "Hello");
        let turn = client.call::<TurnStart>(&start).await.unwrap().turn;
        // The library that shifts the clock can fail to load without an error. The test would then prove
        // nothing.
        tokio::task::block_in_place(|| check_clock(&gateway.target(), seconds)).unwrap();
        let now = protocol::Timestamp::now().milliseconds();
        let began = turn.created_at.milliseconds();
        assert!(
            now.abs_diff(began) < 30_000,
            "what is written has the database's time, not {began} at {now}"
        );
        running.push((client, TurnPageParams { workspace_id, turn_id: turn.id, after: None }));
    }
    for (client, turn) in running {
        let begun = Instant::now();
        let ended = loop {
            let turn = client.call::<TurnGet>(&turn).await.unwrap().turn;
            if turn.status != TurnStatus::Running {
                break turn;
            }
            assert!(begun.elapsed() < PATIENCE, "{turn:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        assert_eq!(ended.status, TurnStatus::Completed, "{ended:?}");
    }
}
