//! The order in which hooks run, and the batches that may run concurrently.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sort key of hooks that do not name each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rank<'a> {
    pub(crate) priority: i32,
    pub(crate) id: &'a str,
}

/// An order of hooks, as indices.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HookOrder {
    /// All hooks in sequence: the order of merging.
    pub(crate) sequence: Vec<usize>,
    /// Positions in the sequence, grouped into batches. Hooks of a batch do not depend on each other.
    pub(crate) batches: Vec<Vec<usize>>,
}

/// Orders hooks by `edges` (pairs of "before, after") first, then by priority (highest first), then by id.
///
/// Fails with the hooks of a cycle, each before the next, ending with the first one again.
pub(crate) fn order(ranks: &[Rank<'_>], edges: &[(usize, usize)]) -> Result<HookOrder, Vec<usize>> {
    let mut waiting = vec![0_usize; ranks.len()];
    let mut followers = vec![Vec::new(); ranks.len()];
    for &(before, after) in edges {
        waiting[after] += 1;
        followers[before].push(after);
    }
    // The heap pops the largest key: the highest priority, and for equal priorities the smallest id. The index never
    // decides, because ids are unique.
    let key = |index: usize| (ranks[index].priority, Reverse(ranks[index].id), index);
    let mut ready: BinaryHeap<_> = (0..ranks.len()).filter(|&index| waiting[index] == 0).map(key).collect();
    let mut batch_of = vec![0_usize; ranks.len()];
    let mut order = HookOrder::default();
    while let Some((_, _, index)) = ready.pop() {
        let batch = batch_of[index];
        if order.batches.len() <= batch {
            order.batches.resize_with(batch + 1, Vec::new);
        }
        order.batches[batch].push(order.sequence.len());
        order.sequence.push(index);
        for &after in &followers[index] {
            // A hook belongs to the batch after the latest one it waits for, whatever its place in the sequence.
            batch_of[after] = batch_of[after].max(batch + 1);
            waiting[after] -= 1;
            if waiting[after] == 0 {
                ready.push(key(after));
            }
        }
    }
    if order.sequence.len() == ranks.len() { Ok(order) } else { Err(circle(ranks, edges, &waiting)) }
}

/// Finds a cycle among the hooks that are still waiting.
fn circle(ranks: &[Rank<'_>], edges: &[(usize, usize)], waiting: &[usize]) -> Vec<usize> {
    let stuck = |index: &usize| waiting[*index] > 0;
    let by_id = |index: &usize| ranks[*index].id;
    let Some(start) = (0..ranks.len()).filter(stuck).min_by_key(by_id) else { return Vec::new() };
    // Every stuck hook waits for another stuck hook, so walking backwards must revisit one.
    let mut path = vec![start];
    loop {
        let last = path[path.len() - 1];
        let before = edges.iter().filter(|edge| edge.1 == last).map(|edge| edge.0).filter(stuck);
        let Some(before) = before.min_by_key(by_id) else { return path };
        if let Some(met) = path.iter().position(|index| *index == before) {
            path.push(before);
            path.drain(..met);
            path.reverse();
            return path;
        }
        path.push(before);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Describes the order of hooks written as `id:priority` with arrows written as `a<b`.
    fn ordered(hooks: &str, arrows: &str) -> String {
        let ids: Vec<(&str, i32)> = hooks
            .split_whitespace()
            .map(|hook| {
                hook.split_once(':').map_or((hook, 0), |(id, priority)| (id, priority.parse().unwrap()))
            })
            .collect();
        let index = |id: &str| ids.iter().position(|hook| hook.0 == id).unwrap();
        let edges: Vec<_> = arrows
            .split_whitespace()
            .map(|arrow| arrow.split_once('<').unwrap())
            .map(|(before, after)| (index(before), index(after)))
            .collect();
        let ranks: Vec<_> = ids.iter().map(|&(id, priority)| Rank { priority, id }).collect();
        match order(&ranks, &edges) {
            Ok(order) => {
                let name = |position: &usize| ids[order.sequence[*position]].0;
                let batch = |batch: &Vec<usize>| batch.iter().map(name).collect::<Vec<_>>().join("+");
                let sequence: Vec<_> = order.sequence.iter().map(|index| ids[*index].0).collect();
                let batches: Vec<_> = order.batches.iter().map(batch).collect();
                format!("{} | {}", sequence.join(" "), batches.join(" "))
            }
            Err(circle) => circle.iter().map(|index| ids[*index].0).collect::<Vec<_>>().join("<"),
        }
    }

    #[test]
    fn orders() {
        for (hooks, arrows, expected) in [
            ("", "", " | "),
            ("b a", "", "a b | a+b"),
            ("a b:1", "", "b a | b+a"),
            ("a b:1", "a<b", "a b | a b"),
            ("a:1 b:9 c:5", "a<b", "c a b | c+a b"),
            ("a:9 b:8 c", "a<b", "a b c | a+c b"),
            ("d c b a", "a<b a<c b<d c<d", "a b c d | a b+c d"),
            ("a b", "a<b a<b", "a b | a b"),
            ("a", "a<a", "a<a"),
            ("a b", "a<b b<a", "a<b<a"),
            ("a b c d", "a<b b<c c<b c<d", "b<c<b"),
            ("x y z w", "x<y y<z z<x z<w", "w"),
        ] {
            let answer = ordered(hooks, arrows);
            if expected == "w" {
                assert_eq!(answer.split('<').count(), 4, "{answer}");
            } else {
                assert_eq!(answer, expected, "{hooks} with {arrows}");
            }
        }
    }

    proptest! {
        #[test]
        fn order_respects_edges_regardless_of_input_order(
            priorities in proptest::collection::vec(-2..3, 1..12),
            arrows in proptest::collection::vec((0_usize..12, 0_usize..12), 0..20),
            rotation in 0_usize..12,
        ) {
            let count = priorities.len();
            let ids: Vec<String> = (0..count).map(|index| format!("hook{index:02}")).collect();
            // Arrows always point from a lower to a higher index, so they cannot form a cycle.
            let edges: Vec<_> = arrows
                .into_iter()
                .map(|(a, b)| (a.min(b), a.max(b)))
                .filter(|&(a, b)| a != b && b < count)
                .collect();
            let ranks: Vec<_> =
                ids.iter().zip(&priorities).map(|(id, &priority)| Rank { priority, id }).collect();
            let order = super::order(&ranks, &edges).unwrap();
            let position = |index: usize| order.sequence.iter().position(|&other| other == index).unwrap();
            let batch = |index: usize| {
                order.batches.iter().position(|batch| batch.contains(&position(index))).unwrap()
            };
            for &(before, after) in &edges {
                prop_assert!(position(before) < position(after));
                prop_assert!(batch(before) < batch(after));
            }
            let moved = |index: usize| (index + rotation) % count;
            let mut moved_ranks = ranks.clone();
            for (index, rank) in ranks.iter().enumerate() {
                moved_ranks[moved(index)] = *rank;
            }
            let moved_edges: Vec<_> = edges.iter().map(|&(a, b)| (moved(a), moved(b))).collect();
            let again = super::order(&moved_ranks, &moved_edges).unwrap();
            let names: Vec<_> = order.sequence.iter().map(|&index| ranks[index].id).collect();
            let moved_names: Vec<_> = again.sequence.iter().map(|&index| moved_ranks[index].id).collect();
            prop_assert_eq!(names, moved_names);
        }
    }
}
