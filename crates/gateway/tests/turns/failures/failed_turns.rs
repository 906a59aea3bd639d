//! A transcript of the turn after a cancelled one.

use scripted_model::Answer;
use serde_json::{Value, json};

use crate::support::{Stage, until};
use crate::transcript::{self, SystemText};

fn write(id: &str, path: &str) -> Answer {
    Answer::empty().tool_call(id, "write_file", &json!({ "path": path, "content": "x\n" }).to_string())
}

fn told(body: &Value) -> usize {
    body.to_string().matches("Turns Without an Answer").count()
}

#[tokio::test]
async fn transcript_of_a_turn_after_a_cancelled_one() {
    let mut stage = Stage::agent(&[("a.txt", "text\n")]).await;
    stage.model.answer(Answer::text("Hello."));
    stage.ask("Hello.").await;
    stage.model.answer(write("call_1", "b.txt"));
    stage.model.answer(Answer::silence());
    let turn = stage.start("Write b.txt and c.txt.").await;
    until("the file to be written", async || stage.bodies().len() == 3).await;
    let params = stage.with(json!({ "turn_id": turn }));
    assert_eq!(stage.socket.ok("turn/cancel", params).await["turn"]["status"], "cancelled");
    stage.model.answer(Answer::text("I look first."));
    stage.model.answer(Answer::text("Yes."));
    stage.ask("Go on.").await;
    stage.ask("Good?").await;
    let bodies = stage.bodies();
    // The note appears once, and later only as a part of the replayed turn.
    assert_eq!((told(&bodies[2]), told(&bodies[3]), told(&bodies[4])), (0, 1, 1));
    transcript::check_requests(&stage, "18-after-a-cancelled-turn", SystemText::Headings, &bodies[3..]);
}
