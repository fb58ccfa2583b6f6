//! egg on a file of rules (`LHS => RHS`) and start terms, a line each: `math FILE ITERATIONS`.
//!
//! Every rule runs on everything in every iteration, as egglog's `run` does. Prints the numbers of e-nodes and classes.
//! `math --version` prints the version of egg that it was built with.

use std::time::Duration;

use egg::{define_language, Id, Pattern, RecExpr, Rewrite, Runner, SimpleScheduler, Symbol};

define_language! {
    enum Math {
        "Diff" = Diff([Id; 2]), "Integral" = Integral([Id; 2]),
        "Add" = Add([Id; 2]), "Sub" = Sub([Id; 2]), "Mul" = Mul([Id; 2]), "Div" = Div([Id; 2]), "Pow" = Pow([Id; 2]),
        "Ln" = Ln(Id), "Sqrt" = Sqrt(Id), "Sin" = Sin(Id), "Cos" = Cos(Id),
        Const(i64), Var(Symbol),
    }
}

fn rule(number: usize, left: &str, right: &str) -> Rewrite<Math, ()> {
    let left: Pattern<Math> = left.parse().expect("a pattern");
    let right: Pattern<Math> = right.parse().expect("a pattern");
    Rewrite::new(format!("rule{number}"), left, right).expect("a rule")
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).map(String::as_str) == Some("--version") {
        println!("{}", env!("EGG_VERSION"));
        return;
    }
    let [_, path, iterations] = &arguments[..] else { panic!("usage: math FILE ITERATIONS") };
    let text = std::fs::read_to_string(path).expect("a file");
    let mut rules = vec![];
    let mut runner = Runner::<Math, ()>::default()
        .with_scheduler(SimpleScheduler)
        .with_iter_limit(iterations.parse().expect("a number"))
        .with_node_limit(usize::MAX)
        .with_time_limit(Duration::MAX);
    for line in text.lines() {
        if let Some((left, right)) = line.split_once("=>") {
            rules.push(rule(rules.len(), left, right));
        } else {
            let term: RecExpr<Math> = line.parse().expect("a term");
            runner = runner.with_expr(&term);
        }
    }
    let graph = runner.run(&rules).egraph;
    println!("{} {}", graph.total_number_of_nodes(), graph.number_of_classes());
}
