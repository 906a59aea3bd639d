//! Admission of contributions.

use hooks::{
    BackgroundJob, Budget, Contribution, ContributionKind, FailureCause, FailurePolicy, HookError,
    MAX_CONTRIBUTIONS, Policy, PromptSection, ToolBundle,
};
use protocol::ToolSpec;
use protocol::prompt::{PromptSource, PromptTruncation};
use serde_json::json;
use strum::VariantArray as _;

use crate::behaviour::{Does, bench, section, status, subscription};

const ONE_EACH: &str = r#"{"policy": 1, "prompt_section": 1, "tool_bundle": 1, "background_job": 1}"#;

fn policy(key: &str, value: u32) -> Contribution {
    Policy::new(key, json!(value)).into()
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: String::new(), schema: json!({}) }
}

#[tokio::test]
async fn an_undeclared_kind_is_refused() {
    let does = Does::Return(vec![section("s", "mine"), policy("p", 1)]);
    let hook = subscription("hook", does).may_contribute([ContributionKind::Policy]);
    // A refused contribution is no failure of the run, so these policies must not change the outcome. Only `Skip`
    // hides the diagnostic.
    for failure in [FailurePolicy::BestEffort, FailurePolicy::Fallback, FailurePolicy::Skip] {
        let bench = bench([hook.clone().failure(failure)]);
        let outcome = bench.run().await.unwrap();
        assert_eq!(outcome.policies().count(), 1, "the rest is taken");
        assert_eq!(outcome.sections().count(), 0);
        let run = bench.only_run();
        assert_eq!((run.refused, run.contributions[&ContributionKind::Policy]), (1, 1));
        if failure == FailurePolicy::Skip {
            assert_eq!(outcome.diagnostics, vec![]);
        } else {
            assert_eq!(outcome.diagnostics[0].code.name(), "section_omitted");
            assert_eq!(outcome.diagnostics[0].section_id.as_deref(), Some("s"));
            let message = "hook `hook`: prompt_section `s` was refused: the subscription does not declare prompt_section";
            assert_eq!(outcome.diagnostics[0].message, message);
        }
    }
    let bench = bench([hook.failure(FailurePolicy::FailClosed)]);
    let HookError::Failed { cause, .. } = bench.run().await.unwrap_err() else { panic!() };
    assert_eq!(cause, FailureCause::Refused);
    assert_eq!(status(&bench.only_run()), "failed");
}

#[tokio::test]
async fn a_repeated_id_is_refused() {
    // Ids are unique per kind, so the section with the id of a policy is accepted.
    let does = Does::Return(vec![policy("p", 1), section("p", "another kind"), policy("p", 2)]);
    let bench = bench([subscription("hook", does)]);
    let outcome = bench.run().await.unwrap();
    let values: Vec<_> = outcome.policies().map(|(_, policy)| policy.value.clone()).collect();
    assert_eq!((values, outcome.sections().count()), (vec![json!(1)], 1));
    assert_eq!(
        outcome.diagnostics[0].message,
        "hook `hook`: policy `p` was refused: the hook already contributed this id"
    );
    assert_eq!(bench.only_run().refused, 1);
}

#[tokio::test]
async fn the_first_hook_in_order_keeps_a_section() {
    let own = |id: &str, content: &str| PromptSection::new(id, "same", "", content).into();
    // The ids differ, but both sections claim the same place in the prompt.
    let late = subscription("late", Does::Return(vec![own("x", "late"), section("other", "")]));
    let early = subscription("early", Does::Return(vec![own("y", "early")])).priority(1);
    let bench1 = bench([late.clone(), early.clone()]);
    let outcome = bench1.run().await.unwrap();
    let contents: Vec<_> = outcome.sections().map(|(_, section)| section.content.as_str()).collect();
    assert_eq!(contents, ["early", ""]);
    assert_eq!(
        outcome.diagnostics[0].message,
        "hook `late`: prompt_section `x` was refused: hook `early` already contributed `same`"
    );
    let runs = bench1.recorder.runs();
    assert_eq!((runs[1].hook_id.as_str(), runs[1].refused), ("late", 1));
    assert_eq!(runs[1].contributions[&ContributionKind::PromptSection], 1);

    let closed = bench([late.failure(FailurePolicy::FailClosed), early]);
    let error = closed.run().await.unwrap_err().to_string();
    assert!(
        error.starts_with("hook `late` (subscription `late`) failed closed in turn.pre_prompt_compile"),
        "{error}"
    );
    assert_eq!(closed.statuses(), ["early completed", "late failed"]);
}

#[tokio::test]
async fn exceeding_the_total_budget_fails_the_hook() {
    let megabyte = || "x".repeat(1024 * 1024);
    for contribution in [
        section("s", &megabyte()),
        BackgroundJob { kind: "k".into(), payload: json!([megabyte()]) }.into(),
        ToolBundle { id: "b".into(), tools: vec![tool(&megabyte())] }.into(),
    ] {
        let bench = bench([subscription("hook", Does::Return(vec![contribution]))]);
        let outcome = bench.run().await.unwrap();
        assert_eq!(outcome.contributions, vec![]);
        assert_eq!(outcome.diagnostics[0].message, "hook `hook`: it returned more than 1048576 bytes");
        assert_eq!(status(&bench.only_run()), "failed");
    }
    // The count has its own limit: jobs without a payload are only a few bytes each.
    let many =
        vec![BackgroundJob { kind: String::new(), payload: json!(null) }.into(); MAX_CONTRIBUTIONS + 1];
    let bench = bench([subscription("hook", Does::Return(many))]);
    let outcome = bench.run().await.unwrap();
    assert_eq!(outcome.diagnostics[0].message, "hook `hook`: it returned 257 contributions, more than 256");
}

#[tokio::test]
async fn a_long_section_is_cut_with_a_mark() {
    let budget = Budget { text_chars: 200, ..Budget::default() };
    let text = "a line of its own\n".repeat(100);
    // The wide section consists of two-byte characters: the budget counts characters, and a cut between
    // bytes would panic.
    let does =
        Does::Return(vec![section("s", &text), section("wide", &"é".repeat(300)), section("short", "")]);
    let bench = bench([subscription("hook", does).budget(budget).failure(FailurePolicy::FailClosed)]);
    let outcome = bench.run().await.unwrap();
    let (contributed, section) = outcome.sections().next().unwrap();
    assert_eq!(contributed.truncation, PromptTruncation::Hook);
    assert!(section.content.starts_with("a line of its own\na line"), "{}", section.content);
    assert!(section.content.ends_with("of 1800 characters shown; the rest exceeds the hook's budget.]"));
    assert!(section.content.chars().count() <= 200);
    assert_eq!(outcome.sections().nth(1).unwrap().1.content.chars().count(), 200);
    let codes: Vec<_> = outcome.diagnostics.iter().map(|diagnostic| diagnostic.code.name()).collect();
    assert_eq!(codes, ["section_truncated", "section_truncated"]);
    assert_eq!(outcome.contributions[2].truncation, PromptTruncation::None);
}

#[tokio::test]
async fn an_oversized_contribution_is_refused() {
    let budget = Budget { json_bytes: 10, ..Budget::default() };
    let does = Does::Return(vec![
        ToolBundle { id: "b".into(), tools: vec![tool("long enough")] }.into(),
        policy("p", 1),
    ]);
    let bench = bench([subscription("hook", does).budget(budget)]);
    let outcome = bench.run().await.unwrap();
    assert_eq!((outcome.bundles().count(), outcome.policies().count()), (0, 1));
    assert_eq!(outcome.diagnostics[0].code.name(), "section_omitted");
}

#[tokio::test]
async fn text_budget_does_not_apply_to_metadata() {
    let named = |id: &str, title: &str| PromptSection::new(id, id, title, "x".repeat(100));
    let source = PromptSource { version: Some(1), ..PromptSource::file("p".repeat(100), None) };
    let budget = Budget { json_bytes: 60, ..Budget::default() };
    let does = Does::Return(vec![
        named("good", "Good").into(),
        named("long", &"x".repeat(201)).into(),
        named("lines", "two\nlines").into(),
        PromptSection { sources: vec![source], ..named("sources", "") }.into(),
    ]);
    let bench = bench([subscription("hook", does).budget(budget)]);
    let outcome = bench.run().await.unwrap();
    let taken: Vec<_> = outcome.sections().map(|(_, section)| section.id.as_str()).collect();
    assert_eq!(taken, ["good"]);
    assert_eq!(outcome.diagnostics.len(), 3);
}

#[tokio::test]
async fn invalid_ids_are_refused_and_shown_in_one_line() {
    // The ids come back in diagnostics, where a line break or a direction override could forge other text.
    let strange = ["", "a b", "a\nb", "\u{202e}"];
    let does = Does::Return(strange.iter().map(|id| section(id, "")).collect());
    let bench = bench([subscription("hook", does)]);
    let outcome = bench.run().await.unwrap();
    assert_eq!((outcome.contributions.len(), outcome.diagnostics.len()), (0, 4));
    for diagnostic in outcome.diagnostics {
        assert!(!diagnostic.message.contains(['\n', '\u{202e}']), "{diagnostic:?}");
        assert_eq!(diagnostic.section_id, None);
    }
}

#[tokio::test]
async fn a_record_survives_json() {
    let all: Vec<Contribution> = vec![
        policy("p", 1),
        section("s", "x"),
        ToolBundle { id: "b".into(), tools: vec![tool("n")] }.into(),
        BackgroundJob { kind: "j".into(), payload: json!(null) }.into(),
    ];
    let bench = bench([subscription("hook", Does::Return(all))]);
    let outcome = bench.run().await.unwrap();
    let kinds: Vec<_> = outcome.contributions.iter().map(|one| one.contribution.kind()).collect();
    assert_eq!(kinds, ContributionKind::VARIANTS);
    let run = bench.only_run();
    let json = serde_json::to_value(&run).unwrap();
    assert_eq!(json["phase"], "turn.pre_prompt_compile");
    assert_eq!(json["contributions"], serde_json::from_str::<serde_json::Value>(ONE_EACH).unwrap());
    assert_eq!(serde_json::from_value::<hooks::HookRun>(json).unwrap(), run);
}
