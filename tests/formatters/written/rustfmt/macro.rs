fn parse_case(input: &str) -> Option<Kind> {
    check!(
        found.map(|kind, extra| ExprKind::into_expression(kind, Some(extra.clone()))),
        "a case",
        input.len()
    );
    None
}
