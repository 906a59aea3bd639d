//! Skills over the wire: listing them, selecting them for a turn, and paths that a thread has touched.

use scripted_model::Answer;
use serde_json::{Value, json};

use crate::support::{Stage, texts};

const FILES: &[(&str, &str)] = &[
    ("src/lib.rs", "pub fn lend() {}\n"),
    (".agents/skills/lend/SKILL.md", "---\nname: lend\ndescription: Lend\n---\nAsk for the card.\n"),
];

/// Creates a project with an untrusted skill and two skills of the user.
async fn stage() -> Stage {
    let stage = Stage::agent(FILES).await;
    for (name, more) in [("asked", "disable-model-invocation: true\n"), ("rust", "paths: '*.rs'\n")] {
        let folder = stage.gateway.data().join("home/skills").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("---\nname: {name}\ndescription: Does {name}\n{more}---\nDo {name}.\n");
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
    }
    stage
}

/// Returns slugs with their outcomes.
fn outcomes(list: &Value) -> Vec<String> {
    let skills = list.as_array().unwrap().iter();
    let slug = |skill: &Value| skill.get("slug").or(skill.get("id")).unwrap().clone();
    let words = skills.map(|skill| [slug(skill), skill["outcome"].clone(), skill["reason"].clone()]);
    words.map(|words| words.map(|word| word.as_str().unwrap().to_owned()).join(" ")).collect()
}

fn system(body: &Value) -> String {
    body["system"].to_string()
}

#[tokio::test]
async fn skills_are_listed_with_their_outcomes() {
    let mut stage = stage().await;
    let listed = stage.socket.ok("skill/list", stage.with(json!({}))).await;
    assert_eq!(
        outcomes(&listed["skills"]),
        ["lend untrusted never_trusted", "asked disabled not_implicit", "rust disabled no_path_matched"]
    );
    assert!(listed["skills"][0]["detail"].as_str().unwrap().contains("foreword trust"), "{listed}");
    let found = stage.socket.ok("skill/get", stage.with(json!({ "slug": "rust" }))).await;
    assert_eq!((&found["skill"]["body"], &found["skill"]["paths"]), (&json!("Do rust.\n"), &json!(["*.rs"])));
    let found = stage.socket.ok("skill/get", stage.with(json!({ "slug": "lend" }))).await;
    assert!(found["skill"].get("body").is_none(), "nobody has trusted it: {found}");
    let refusals = [
        ("skill/get", -32004, json!({ "slug": "rsut" })),
        ("skill/get", -32602, json!({})),
        ("skill/list", -32003, json!({ "cwd": "/etc" })),
        ("skill/list", -32011, json!({ "cwd": "missing" })),
        ("skill/list", -32004, json!({ "thread_id": "0198c0de-0000-7000-8000-000000000000" })),
    ];
    for (method, code, params) in refusals {
        let data = stage.socket.refused(code, method, stage.with(params)).await;
        if method == "skill/get" && code == -32004 {
            assert_eq!((&data["what"], &data["id"]), (&json!("skill"), &json!("rsut")));
            assert_eq!(data["hint"], "did you mean `rust`?");
        }
    }
}

#[tokio::test]
async fn a_turn_gets_its_selected_skills() {
    let mut stage = stage().await;
    for (code, slug, hint) in [(-32004, "none", "foreword skill list"), (-32011, "lend", "foreword trust")] {
        let named = json!({ "thread_id": stage.thread, "input": "hi", "skills": ["asked", slug] });
        let data = stage.socket.refused(code, "turn/start", stage.with(named)).await;
        assert!(data["hint"].as_str().unwrap().contains(hint), "{data}");
    }
    stage.model.answer(Answer::text("one"));
    let turn = stage.ask_with(json!({ "input": "hi", "skills": ["asked"] })).await;
    let sent = stage.last_body();
    let note = "## Selected Skills\nThe user selected the skill asked; call read_skill with this slug before you start.";
    assert!(texts(&sent["messages"][0]).join("\n").contains(note), "{sent}");
    assert!(!system(&sent).contains("- asked:") && !sent.to_string().contains("Do asked."));
    let explained =
        stage.socket.ok("turn/explain", stage.with(json!({ "turn_id": turn["turn"]["id"] }))).await;
    assert_eq!(
        outcomes(&explained["explanation"]["left_out"]),
        ["lend untrusted never_trusted", "rust disabled no_path_matched"]
    );
    // The next turn does not select it, and cannot read it either: without any skill in use, there is no tool.
    stage.model.answer(Answer::empty().tool_call("1", "read_skill", r#"{"slug":"asked"}"#));
    stage.model.answer(Answer::text("two"));
    stage.ask("hi").await;
    let sent = stage.last_body();
    assert!(!system(&sent).contains("- asked:"));
    assert!(sent["messages"].to_string().contains("there is no tool `read_skill`"), "{}", sent["messages"]);
    let folder = stage.gateway.data().join("home/skills/open");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), "---\nname: open\ndescription: Opens\n---\nOpen.\n").unwrap();
    stage.model.answer(Answer::empty().tool_call("1b", "read_skill", r#"{"slug":"asked"}"#));
    stage.model.answer(Answer::text("two and a half"));
    stage.ask("hi").await;
    let sent = stage.last_body();
    let refused = "the skill `asked` is used only in turns that name it, and this one does not";
    assert!(sent["messages"].to_string().contains(refused), "{}", sent["messages"]);
    stage.model.answer(Answer::empty().tool_call("2", "read_skill", r#"{"slug":"asked"}"#));
    stage.model.answer(Answer::text("three"));
    stage.ask_with(json!({ "input": "hi", "skills": ["asked"] })).await;
    assert!(stage.last_body()["messages"].to_string().contains("Do asked."));
}

#[tokio::test]
async fn touched_files_activate_skills_in_the_next_turn() {
    let mut stage = stage().await;
    stage.model.answer(Answer::empty().tool_call("1", "read_file", r#"{"path":"src/lib.rs"}"#));
    stage.model.answer(Answer::text("read"));
    stage.ask("Read it.").await;
    let here = stage.socket.ok("skill/list", stage.with(json!({ "thread_id": stage.thread }))).await;
    assert!(outcomes(&here["skills"]).contains(&"rust active path_matched".to_owned()), "{here}");
    let elsewhere = stage.socket.ok("skill/list", stage.with(json!({}))).await;
    assert!(outcomes(&elsewhere["skills"]).contains(&"rust disabled no_path_matched".to_owned()));
    for _ in 0..2 {
        stage.model.answer(Answer::text("done"));
        stage.ask("And now?").await;
        let sent = system(&stage.last_body());
        assert!(sent.contains("The skill \\\"rust\\\" applies here and says:\\n> Do rust."), "{sent}");
    }
    let bodies = stage.bodies();
    assert!(!system(&bodies[0]).contains("rust"), "nothing had been touched");
    // A skill that came and went with every turn would change the prefix each time.
    assert_eq!(system(&bodies[2]), system(&bodies[3]), "the prefix holds from then on");
}

// The list is part of the text that all turns share, and a selection belongs to one turn.
#[tokio::test]
async fn a_selection_leaves_the_cached_prefix_alone() {
    let mut stage = Stage::agent(&[]).await;
    for name in ["s0", "s1", "s2"] {
        let folder = stage.gateway.data().join("home/skills").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(
            folder.join("SKILL.md"),
            format!("---\nname: {name}\ndescription: Does {name}\n---\nDo.\n"),
        )
        .unwrap();
    }
    stage.model.answer_by(|_| Answer::text("done"));
    for skills in [json!([]), json!(["s0"]), json!(["s2"]), json!(["s2", "s0", "s2"]), json!(["s2", "s0"])] {
        stage.ask_with(json!({ "input": "hi", "skills": skills })).await;
    }
    let bodies = stage.bodies();
    for body in &bodies {
        assert_eq!((&body["system"], &body["tools"]), (&bodies[0]["system"], &bodies[0]["tools"]));
    }
    let last = |body: &Value| texts(body["messages"].as_array().unwrap().last().unwrap()).join("\n");
    assert!(!last(&bodies[0]).contains("Selected Skills"));
    assert!(
        last(&bodies[1])
            .contains("The user selected the skill s0; call read_skill with this slug before you start.")
    );
    // The same selection is a new request in every turn.
    for body in &bodies[3..] {
        let note = "The user selected these skills: s2, s0; call read_skill with each slug before you start.";
        assert!(last(body).contains(note), "{}", last(body));
    }
    let params = stage.with(json!({ "thread_id": stage.thread, "skills": ["s1"] }));
    let preview = stage.socket.ok("prompt/preview", params).await;
    assert!(preview["turn_text"].as_str().unwrap().contains("the skill s1;"));
    let sections = preview["manifest"]["sections"].as_array().unwrap();
    let selected = sections.iter().find(|section| section["id"] == "selected_skills").unwrap();
    assert_eq!(
        (&selected["sources"][0]["id"], &selected["sources"][0]["reason"]),
        (&json!("s1"), &json!("selected"))
    );
}

#[tokio::test]
async fn read_skill_needs_a_skill_in_use() {
    let mut stage = stage().await;
    stage.model.answer(Answer::text("one"));
    stage.ask("hi").await;
    assert!(!stage.last_body()["tools"].to_string().contains("read_skill"), "all of them are disabled");
}
