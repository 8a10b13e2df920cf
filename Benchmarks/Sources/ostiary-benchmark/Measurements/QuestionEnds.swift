import Glibc

/// How soon a question goes away that nobody answers.
struct QuestionEnds {
    let terminal: PseudoTerminal
    let count: Int

    /// From the beginning of `end` to the moment when the terminal shows again what is typed.
    ///
    /// - Parameter ask: has a question asked on the terminal.
    func measure<Asked>(asking ask: () throws -> Asked, end: (Asked) throws -> Void) throws -> Figure {
        terminal.isTyping = false
        defer { terminal.isTyping = true }
        var samples = Samples()
        for _ in 0..<count {
            let former = terminal.questionCount
            let asked = try ask()
            try wait { terminal.questionCount > former && !terminal.echoes }
            try samples.time {
                try end(asked)
                try wait { terminal.echoes }
            }
        }
        return samples.figure(.milliseconds)
    }

    private func wait(until isThere: () -> Bool) throws {
        let end = ContinuousClock.now + .seconds(30)
        while !isThere() {
            guard ContinuousClock.now < end else { throw NoQuestion() }
            usleep(500)
        }
    }

    struct NoQuestion: Error, CustomStringConvertible {
        var description: String { "a question did not come, or did not go when it had to" }
    }
}
