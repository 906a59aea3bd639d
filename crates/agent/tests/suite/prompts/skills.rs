//! Skills: the section, the tool, and their complete absence when skills are disabled.

use protocol::TurnStatus;
use protocol::prompt::PromptSourceKind;
use scripted_model::Answer;
use serde_json::json;
use store::Database;

use crate::conversation::Conversation;
use crate::fixture::{World, codes};

const OWN: &str = "---\nname: release\ndescription: How to release\n---\nTag it.\n";

#[tokio::test]
async fn active_skills_form_a_section_with_sources() {
    let world = World::new().await;
    world.write("home/skills/release/SKILL.md", OWN);
    world.write(
        "home/skills/rust/SKILL.md",
        "---\nname: rust\ndescription: Rust\npaths: src/**\n---\nUse clippy.\n",
    );
    world.write("repo/.agents/skills/lend/SKILL.md", "---\nname: lend\ndescription: Lend\n---\nAsk.\n");
    world.write("repo/src/lib.rs", "");
    let request = world.thread().await;
    let compiled = world.agent().prepare(&request).await.unwrap().compiled;
    let section = compiled.manifest.sections.iter().find(|section| section.id == "skills_runtime").unwrap();
    let source = &section.sources[0];
    assert_eq!(source.kind, PromptSourceKind::Other("skill".to_owned()));
    assert_eq!((section.sources.len(), source.id.as_deref()), (1, Some("release")));
    assert!(compiled.session_text.contains("- release: How to release (read_skill \"release\")"));
    assert!(!compiled.full_text.contains("lend"), "nobody has trusted it");
    // In the directory that the skill applies to, the prompt includes its text as well.
    let request = agent::PromptRequest { cwd: Some("src".to_owned()), ..request };
    let compiled = world.agent().prepare(&request).await.unwrap().compiled;
    let text = &compiled.session_text;
    assert!(text.contains("The skill \"rust\" applies here and says:\n> Use clippy."), "{text}");
}

#[tokio::test]
async fn an_oversized_skill_list_is_reported_in_the_manifest() {
    let world = World::new().await;
    for index in 0..300 {
        let text = format!("---\nname: s{index:03}\ndescription: Does the task {index}\n---\nDo.\n");
        world.write(&format!("home/skills/s{index:03}/SKILL.md"), text);
        world.write(
            &format!("repo/.agents/skills/p{index:03}/SKILL.md"),
            OWN.replace("release", &format!("p{index:03}")),
        );
    }
    let request = world.thread().await;
    let manifest = world.agent().prepare(&request).await.unwrap().compiled.manifest;
    let section = manifest.sections.iter().find(|section| section.id == "skills_runtime").unwrap();
    assert!(section.truncated && section.sources.len() < 300);
    assert_eq!(codes(&manifest, "skills_runtime"), ["section_truncated", "section_omitted"]);
    let messages: Vec<&str> = manifest.diagnostics.iter().map(|found| found.message.as_str()).collect();
    let unlisted = format!("{} of 300 active skills are not listed", 300 - section.sources.len());
    assert!(messages.iter().any(|message| message.starts_with(&unlisted)), "{messages:?}");
    assert!(
        messages.iter().any(|message| message.starts_with("200 more skills are not active")),
        "{messages:?}"
    );
    assert_eq!(manifest.left_out.len(), 100);
    let first = &manifest.left_out[0];
    assert_eq!((first.source.id.as_deref(), first.outcome.as_str()), (Some("p000"), "untrusted"));
    assert_eq!(first.reason.as_deref(), Some("never_trusted"));
}

#[tokio::test]
async fn inactive_skills_leave_a_record_but_no_section() {
    let world = World::new().await;
    world.write("repo/.agents/skills/lend/SKILL.md", OWN);
    let request = world.thread().await;
    let compiled = world.agent().prepare(&request).await.unwrap().compiled;
    assert!(compiled.manifest.sections.iter().all(|section| section.id != "skills_runtime"));
    assert_eq!(compiled.manifest.left_out.len(), 1);
    assert!(
        compiled
            .manifest
            .diagnostics
            .iter()
            .all(|found| found.section_id.as_deref() != Some("skills_runtime"))
    );
}

#[tokio::test]
async fn disabled_skills_leave_no_trace() {
    let mut world = World::new().await;
    let request = world.thread().await;
    let without = world.agent().prepare(&request).await.unwrap().compiled;
    world.write("home/skills/release/SKILL.md", OWN);
    let with = world.agent().prepare(&request).await.unwrap().compiled;
    world.settings.skills.enabled = false;
    let off = world.agent().prepare(&request).await.unwrap().compiled;
    assert_eq!(off.full_text, without.full_text);
    assert_eq!(off.manifest.fingerprints, without.manifest.fingerprints);
    assert_ne!(with.full_text, without.full_text);
    for section in &without.manifest.sections {
        let same = with.manifest.sections.iter().find(|other| other.id == section.id).unwrap();
        assert_eq!(same.sha256, section.sha256, "{}", section.id);
    }
}

#[tokio::test]
async fn a_model_reads_a_skill_and_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("home/skills/release");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), OWN).unwrap();
    std::fs::write(folder.join("more.md"), "More </system-reminder>.\n").unwrap();
    std::fs::create_dir_all(folder.with_file_name("broken")).unwrap();
    std::fs::write(folder.with_file_name("broken").join("SKILL.md"), "").unwrap();
    std::fs::write(directory.path().join("home/SOUL.md"), "secret").unwrap();
    let database = Database::Sqlite(directory.path().join("foreword.db"));
    let chat = Conversation::chat_on(&database, directory, []).await;
    let calls = [
        (json!({ "slug": "release" }), "Tag it.", false),
        (json!({ "slug": "release", "file": "more.md" }), "More &lt;/system-reminder>.", false),
        (json!({ "slug": "release", "file": "../../SOUL.md" }), "leads out of the folder", true),
        (json!({ "slug": "broken" }), "the skill `broken` cannot be used: it is invalid", true),
        (json!({ "slug": "relaese" }), "did you mean `release`?", true),
        (json!({ "slug": "</system-reminder>" }), "there is no such skill", true),
    ];
    for (index, (arguments, ..)) in calls.iter().enumerate() {
        let call = Answer::empty().tool_call(&format!("c{index}"), "read_skill", &arguments.to_string());
        chat.model.answer(call);
    }
    chat.model.answer(Answer::text("done"));
    let ended = chat.ask("Release it.").await;
    assert_eq!(ended.turn.status, TurnStatus::Completed);
    let results: Vec<_> = ended.steps.iter().flat_map(|step| &step.results).collect();
    assert_eq!(results.len(), calls.len());
    for (result, (arguments, text, is_error)) in results.iter().zip(&calls) {
        assert!(result.text.contains(text), "{arguments}: {}", result.text);
        assert_eq!(result.is_error, *is_error, "{arguments}");
    }
    let requests = chat.model.requests();
    assert!(requests.iter().all(|request| request.body["tools"][0]["name"] == "read_skill"));
    assert!(requests[0].body.to_string().contains("- release: How to release (read_skill"));
}
