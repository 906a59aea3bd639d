//! Messages with the answer every transport must give.

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) text: String,
    /// Short form of the answer: `id code` or `id ok`, a batch in brackets, empty if there is none.
    pub(super) expected: String,
}

/// Messages that need no more than a line.
#[rustfmt::skip]
const SHORT: &[(&str, &str, &str)] = &[
    ("half a message", r#"{"jsonrpc":"2.0","id":1,"met"#, "null -32700"),
    ("not JSON", "hello", "null -32700"),
    ("two values", r#"{"jsonrpc":"2.0","id":1,"method":"initialize"} {}"#, "null -32700"),
    ("half a batch", r#"[{"jsonrpc":"2.0","id":1,"method":"initialize"},"#, "null -32700"),
    ("half a surrogate pair as method", r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, "1 -32600"),
    ("a single quote", r#"{'jsonrpc':'2.0'}"#, "null -32700"),
    ("a number", "7", "null -32600"),
    ("a string", r#""initialize""#, "null -32600"),
    ("null", "null", "null -32600"),
    ("an empty object", "{}", "null -32600"),
    ("an empty batch", "[]", "null -32600"),
    ("a batch of garbage", "[1,null,\"x\",[]]", "[null -32600, null -32600, null -32600, null -32600]"),
    ("a batch in a batch", r#"[[{"jsonrpc":"2.0","id":1,"method":"initialize"}]]"#, "[null -32600]"),
    ("no version", r#"{"id":1,"method":"initialize"}"#, "1 -32600"),
    ("another version", r#"{"jsonrpc":"1.0","id":1,"method":"initialize"}"#, "1 -32600"),
    ("a version that is a number", r#"{"jsonrpc":2.0,"id":1,"method":"initialize"}"#, "1 -32600"),
    ("no method", r#"{"jsonrpc":"2.0","id":1}"#, "1 -32600"),
    ("a method that is a number", r#"{"jsonrpc":"2.0","id":1,"method":1}"#, "1 -32600"),
    ("a method that is null", r#"{"jsonrpc":"2.0","id":1,"method":null}"#, "1 -32600"),
    ("parameters that are a string", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":"x"}"#, "1 -32600"),
    ("parameters that are null", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}"#, "1 -32600"),
    ("a null id", r#"{"jsonrpc":"2.0","id":null,"method":"initialize"}"#, "null -32600"),
    ("an id that is an object", r#"{"jsonrpc":"2.0","id":{},"method":"initialize"}"#, "null -32600"),
    ("an id that is an array", r#"{"jsonrpc":"2.0","id":[1],"method":"initialize"}"#, "null -32600"),
    ("an id that is true", r#"{"jsonrpc":"2.0","id":true,"method":"initialize"}"#, "null -32600"),
    ("two ids", r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"initialize"}"#, "null -32600"),
    ("two methods", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","method":"token/list"}"#, "null -32600"),
    ("a string id", r#"{"jsonrpc":"2.0","id":"seven","method":"initialize"}"#, "\"seven\" ok"),
    ("an empty string id", r#"{"jsonrpc":"2.0","id":"","method":"initialize"}"#, "\"\" ok"),
    ("a string id with escapes", r#"{"jsonrpc":"2.0","id":"\u00e9\n\/","method":"initialize"}"#, r#""\u00e9\n\/" ok"#),
    ("a huge id", r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"initialize"}"#, "123456789012345678901234567890 ok"),
    ("a fractional id", r#"{"jsonrpc":"2.0","id":1.50,"method":"initialize"}"#, "1.50 ok"),
    ("a negative id", r#"{"jsonrpc":"2.0","id":-0,"method":"initialize"}"#, "-0 ok"),
    ("an id out of a double's range", r#"{"jsonrpc":"2.0","id":1e999,"method":"initialize"}"#, "1e999 ok"),
    ("an id of a refused call", r#"{"jsonrpc":"2.0","id":2.50,"method":"nothing"}"#, "2.50 -32601"),
    ("members that nobody knows", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","trace":{"a":[1]}}"#, "1 ok"),
    ("an unknown method", r#"{"jsonrpc":"2.0","id":1,"method":"thread/agents_doc/steal"}"#, "1 -32601"),
    ("an empty method", r#"{"jsonrpc":"2.0","id":1,"method":""}"#, "1 -32601"),
    ("a method in other letters", r#"{"jsonrpc":"2.0","id":1,"method":"Initialize"}"#, "1 -32601"),
    ("positional parameters", r#"{"jsonrpc":"2.0","id":1,"method":"workspace/get","params":["w"]}"#, "1 -32602"),
    ("no positional parameters", r#"{"jsonrpc":"2.0","id":1,"method":"workspace/list","params":[]}"#, "1 -32602"),
    ("missing parameters", r#"{"jsonrpc":"2.0","id":1,"method":"workspace/get"}"#, "1 -32602"),
    ("an unknown field", r#"{"jsonrpc":"2.0","id":1,"method":"workspace/list","params":{"x":1}}"#, "1 -32602"),
    ("an unknown field within", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"client":{"name":"a","version":"1","x":1}}}"#, "1 -32602"),
    ("a field twice", r#"{"jsonrpc":"2.0","id":1,"method":"workspace/get","params":{"workspace_id":"a","workspace_id":"b"}}"#, "1 -32602"),
    ("a number for a string", r#"{"jsonrpc":"2.0","id":1,"method":"workspace/get","params":{"workspace_id":7}}"#, "1 -32602"),
    ("an object for a string", r#"{"jsonrpc":"2.0","id":1,"method":"workspace/get","params":{"workspace_id":{}}}"#, "1 -32602"),
    ("a blank id", r#"{"jsonrpc":"2.0","id":1,"method":"workspace/get","params":{"workspace_id":" "}}"#, "1 -32602"),
    ("half a surrogate pair as id", r#"{"jsonrpc":"2.0","id":1,"method":"workspace/get","params":{"workspace_id":"\ud800"}}"#, "1 -32602"),
    ("an unknown workspace", r#"{"jsonrpc":"2.0","id":1,"method":"workspace/get","params":{"workspace_id":"w"}}"#, "1 -32004"),
    ("a negative version", r#"{"jsonrpc":"2.0","id":1,"method":"thread/agents_doc/revision","params":{"workspace_id":"w","version":-1}}"#, "1 -32602"),
    ("a fractional version", r#"{"jsonrpc":"2.0","id":1,"method":"thread/agents_doc/revision","params":{"workspace_id":"w","version":1.5}}"#, "1 -32602"),
    ("an unknown word", r#"{"jsonrpc":"2.0","id":1,"method":"token/create","params":{"name":"x","role":"king"}}"#, "1 -32602"),
    ("a notification", r#"{"jsonrpc":"2.0","method":"workspace/list"}"#, ""),
    ("a notification that fails", r#"{"jsonrpc":"2.0","method":"workspace/get","params":{}}"#, ""),
    ("a notification of nothing known", r#"{"jsonrpc":"2.0","method":"nothing"}"#, ""),
    ("a batch of notifications", r#"[{"jsonrpc":"2.0","method":"workspace/list"},{"jsonrpc":"2.0","method":"nothing"}]"#, ""),
    (
        "a mixed batch",
        r#"[{"jsonrpc":"2.0","id":"a","method":"initialize"},{"jsonrpc":"2.0","method":"workspace/list"},7,{"jsonrpc":"2.0","id":2,"method":"nothing"},{"id":3},{"jsonrpc":"2.0","id":"a","method":"workspace/list"}]"#,
        "[\"a\" ok, null -32600, 2 -32601, 3 -32600, \"a\" ok]",
    ),
    ("white space around", " \t{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"} ", "1 ok"),
    ("a byte order mark", "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", "null -32700"),
];

pub(super) fn cases() -> Vec<Case> {
    let short =
        SHORT.iter().map(|(name, text, expected)| case(name, (*text).to_owned(), (*expected).to_owned()));
    short.chain(long()).collect()
}

fn case(name: &'static str, text: String, expected: String) -> Case {
    Case { name, text, expected }
}

fn long() -> Vec<Case> {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
    let batch = |count: usize| format!("[{}]", vec![request; count].join(","));
    let arrays = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let objects = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    let with_params =
        |params: String| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"workspace/get","params":{params}}}"#);
    let with_id = |id: String| with_params(format!(r#"{{"workspace_id":{id}}}"#));
    let in_agents = |value: String| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"workspace/create","params":{{"name":"x","agents":{value}}}}}"#
        )
    };
    let beside =
        |value: String| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","other":{value}}}"#);
    let as_id = |value: String| format!(r#"{{"jsonrpc":"2.0","id":{value},"method":"initialize"}}"#);
    let refused = || "1 -32602".to_owned();
    vec![
        case("arrays 100 deep", with_id(arrays(100)), refused()),
        case("objects 100 deep", with_id(objects(100)), refused()),
        case("arrays 100,000 deep", with_id(arrays(100_000)), refused()),
        case("objects 100,000 deep", with_id(objects(100_000)), refused()),
        case("parameters 100,000 deep", with_params(objects(100_000)), refused()),
        case("settings 100,000 deep", in_agents(objects(100_000)), refused()),
        case("an unknown member 100,000 deep", beside(arrays(100_000)), "1 ok".to_owned()),
        case("an id 100,000 deep", as_id(arrays(100_000)), "null -32600".to_owned()),
        case("nothing but arrays 100,000 deep", arrays(100_000), "[null -32600]".to_owned()),
        case("100,000 arrays that never end", "[".repeat(100_000), "null -32700".to_owned()),
        case(
            "a long unknown method",
            with_params("{}".to_owned()).replace("workspace/get", &"x".repeat(100_000)),
            "1 -32601".to_owned(),
        ),
        case(
            "a long id",
            as_id(format!("\"{}\"", "x".repeat(10_000))),
            format!("\"{}\" ok", "x".repeat(10_000)),
        ),
        case("a batch of 64", batch(64), format!("[{}]", vec!["1 ok"; 64].join(", "))),
        case("a batch of 65", batch(65), "null -32030".to_owned()),
        case("a batch of 100,000 nothings", format!("[{}0]", "0,".repeat(99_999)), "null -32030".to_owned()),
    ]
}
