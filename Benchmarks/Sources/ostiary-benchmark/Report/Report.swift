import Foundation

/// The outcome of a run, as text for people and as JSON for programs.
struct Report {
    let machine: Machine
    let plan: Plan
    let processor: Int
    let pinned: Figures
    let free: Figures
    let goals: [Goal]

    // MARK: text

    var text: String {
        var lines = [
            "\(machine.processors) × \(machine.model), \(machine.memoryMegabytes) MB, Linux \(machine.kernel)",
            "\(plan.blocks) blocks of \(plan.calls) calls; many: \(plan.storedRights) rights, \(plan.clients) clients, "
                + "\(plan.idleUsers) idle users",
            "",
            row("", "pinned to processor \(processor)", "free"), row("", "median", "p99", "median", "p99", ""),
        ]
        for name in FigureName.allCases {
            guard let pinned = pinned[name], let free = free[name] else { continue }
            lines.append(
                row(
                    name.rawValue, Self.number(pinned.median), Self.number(pinned.p99), Self.number(free.median),
                    Self.number(free.p99), pinned.unit.rawValue))
        }
        lines += ["", Self.padded("goal (pinned, unless it says free)", Self.nameWidth + 10) + "  value  limit"]
        for goal in goals {
            lines.append(
                Self.padded(goal.name, Self.nameWidth + 10)
                    + "\(Self.aligned(Self.number(goal.value), 7))  \(goal.bound.rawValue) \(Self.number(goal.limit))  "
                    + (goal.isMet ? "met" : "MISSED"))
        }
        return lines.joined(separator: "\n")
    }

    private static let nameWidth = 36
    private static let columnWidth = 12

    private func row(_ name: String, _ pinned: String, _ free: String) -> String {
        Self.padded(name, Self.nameWidth) + Self.aligned(pinned, 2 * Self.columnWidth)
            + Self.aligned(free, 2 * Self.columnWidth)
    }

    private func row(_ name: String, _ columns: String...) -> String {
        Self.padded(name, Self.nameWidth) + columns.dropLast().map { Self.aligned($0, Self.columnWidth) }.joined()
            + "  " + columns.last!
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 0))
    }

    private static func aligned(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(width - text.count, 0)) + text
    }

    private static func number(_ value: Double) -> String {
        value >= 1000 ? String(format: "%.0f", value) : String(format: value >= 10 ? "%.1f" : "%.2f", value)
    }

    // MARK: JSON

    private struct Document: Encodable {
        struct GoalEntry: Encodable {
            let name, bound: String
            let value, limit: Double
            let isMet: Bool
        }

        let machine: Machine
        let plan: Plan
        let processor: Int
        let pinned, free: [String: Figure]
        let goals: [GoalEntry]
    }

    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            encoder.nonConformingFloatEncodingStrategy = .convertToString(
                positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
            return try encoder.encode(
                Document(
                    machine: machine, plan: plan, processor: processor, pinned: Self.named(pinned),
                    free: Self.named(free),
                    goals: goals.map {
                        .init(
                            name: $0.name, bound: $0.bound.rawValue, value: $0.value, limit: $0.limit, isMet: $0.isMet)
                    }))
        }
    }

    private static func named(_ figures: Figures) -> [String: Figure] {
        Dictionary(uniqueKeysWithValues: figures.map { ($0.rawValue, $1) })
    }
}
