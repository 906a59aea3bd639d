//! A workspace directory that is replaced while a turn runs.

use scripted_model::Answer;
use serde_json::json;

use crate::stage::{Stage, texts};

#[tokio::test]
async fn a_root_replaced_during_a_turn_is_left_alone() {
    let stage = Stage::agent(&[("AGENTS.md", "RULE-OLD"), ("a.txt", "old\n")]).await;
    let root = stage.path("a.txt").parent().unwrap().to_owned();
    let aside = root.with_file_name(format!("{}-aside", root.file_name().unwrap().to_string_lossy()));
    let mut round = 0;
    stage.model.answer_by({
        let (root, aside) = (root.clone(), aside.clone());
        move |_| {
            round += 1;
            if round > 1 {
                return Answer::text("It is another one.");
            }
            std::fs::rename(&root, &aside).unwrap();
            std::fs::create_dir(&root).unwrap();
            std::fs::write(root.join("AGENTS.md"), "RULE-NEW").unwrap();
            std::fs::write(root.join("a.txt"), "new\n").unwrap();
            let calls = [
                ("1", "read_file", json!({ "path": "a.txt" })),
                ("2", "list_dir", json!({ "path": "." })),
                ("3", "search", json!({ "pattern": "o" })),
                ("4", "write_file", json!({ "path": "a.txt", "content": "written\n" })),
                ("5", "edit_file", json!({ "path": "a.txt", "old_text": "old", "new_text": "edited" })),
            ];
            let calls = calls.map(|(id, name, arguments)| (id, name, arguments.to_string()));
            calls
                .iter()
                .fold(Answer::empty(), |answer, (id, name, arguments)| answer.tool_call(id, name, arguments))
        }
    });
    let answer = stage.ask("go").await;
    let results = answer["steps"][2]["results"].as_array().unwrap().clone();
    assert_eq!(results.len(), 5);
    for result in &results {
        let text = result["text"].as_str().unwrap();
        assert_eq!(result["is_error"], true, "{result}");
        assert!(text.contains("was moved, removed or replaced since this turn began"), "{result}");
    }
    // The turn was started in the old directory. It must not act on the new one, and its instructions are for the next turn.
    for (place, text) in [(&root, "new\n"), (&aside, "old\n")] {
        assert_eq!(std::fs::read_to_string(place.join("a.txt")).unwrap(), text);
    }
    let told = texts(stage.last_body()["messages"].as_array().unwrap().last().unwrap()).concat();
    assert!(!told.contains("RULE-NEW"), "{told}");

    // The next turn works in the new directory and gets its instructions.
    stage.model.answer(Answer::empty().tool_call("6", "read_file", r#"{"path":"a.txt"}"#));
    stage.model.answer(Answer::text("new"));
    let next = stage.ask("and now?").await;
    assert_eq!(next["steps"][2]["results"][0]["text"], "new\n");
    assert!(next["steps"][0]["reminders"][0]["text"].as_str().unwrap().contains("RULE-NEW"), "{next:#}");
    std::fs::remove_dir_all(&aside).unwrap();
}
