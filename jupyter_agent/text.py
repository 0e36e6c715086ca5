"""Pure text helpers: what a person would see of raw output, cut to a budget, with secrets masked."""
