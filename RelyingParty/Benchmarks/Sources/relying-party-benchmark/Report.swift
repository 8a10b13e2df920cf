import Foundation

/// The outcome of a run, as text for people and as JSON for programs.
struct Report {
    let machine: Machine
    let plan: Plan
    let figures: Figures

    private func median(_ name: FigureName) -> Double { figures[name]?.median ?? .nan }

    var goals: [Goal] {
        [
            Goal(
                name: "assertion / bare verification", value: median(.assertion) / median(.bareVerification),
                bound: .atMost, limit: 1.25),
            Goal(
                name: "python-fido2 / assertion", value: median(.pythonFIDO2) / median(.assertion), bound: .atLeast,
                limit: 1),
            Goal(
                name: "py_webauthn / assertion", value: median(.pythonWebAuthn) / median(.assertion), bound: .atLeast,
                limit: 1),
            Goal(
                name: "two threads / both of Python's, two threads each",
                value: median(.twoThreads) / (median(.pythonFIDO2TwoThreads) + median(.pythonWebAuthnTwoThreads)),
                bound: .atLeast, limit: 1),
            Goal(
                name: "two threads / one thread", value: median(.twoThreads) / median(.oneThread), bound: .atLeast,
                limit: 1.7),
            Goal(
                name: "challenge with many open / with few", value: median(.challengeManyOpen) / median(.challenge),
                bound: .atMost, limit: 1.25),
        ]
    }

    // MARK: text

    var text: String {
        var lines = [
            "\(machine.processors) × \(machine.model), \(machine.memoryMegabytes) MB, Linux \(machine.kernel)",
            "\(plan.blocks) blocks of \(plan.calls) calls; many: \(plan.openChallenges) challenges", "",
            Self.row("", "median", "p99"),
        ]
        for name in FigureName.allCases {
            guard let figure = figures[name] else { continue }
            lines.append(
                Self.row(name.rawValue, Self.number(figure.median), Self.number(figure.p99))
                    + "  \(figure.unit.rawValue)")
        }
        lines += ["", Self.row("goal", "value", "")]
        for goal in goals {
            lines.append(
                Self.row(goal.name, Self.number(goal.value), "") + "\(goal.bound.rawValue) \(goal.limit)  "
                    + (goal.isMet ? "met" : "MISSED"))
        }
        return lines.joined(separator: "\n")
    }

    private static func row(_ name: String, _ columns: String...) -> String {
        name.padding(toLength: 50, withPad: " ", startingAt: 0)
            + columns.map { String(repeating: " ", count: max(10 - $0.count, 0)) + $0 }.joined()
    }

    private static func number(_ value: Double) -> String { String(format: value >= 100 ? "%.0f" : "%.2f", value) }

    // MARK: JSON

    private struct Document: Encodable {
        let machine: Machine
        let plan: Plan
        let figures: [String: Figure]
        let goals: [String: Double]
    }

    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return try encoder.encode(
                Document(
                    machine: machine, plan: plan,
                    figures: Dictionary(uniqueKeysWithValues: figures.map { ($0.rawValue, $1) }),
                    goals: Dictionary(uniqueKeysWithValues: goals.map { ($0.name, $0.value) })))
        }
    }
}
