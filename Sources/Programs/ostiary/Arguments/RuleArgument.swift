import AccessControl
import ArgumentParser

/// `--require RULE`: a rule as text, and the requirement made from it.
struct RuleArgument {
    static let standard = "biometry or passcode"

    let requirement: Requirement
    /// Whether only proofs count that were given at the trusted place.
    let isAtTrustedPlace: Bool

    /// Throws `ValidationError` with the position of the mistake.
    init(_ text: String) throws {
        do {
            let placed = try PlacedRule(parsing: text)
            requirement = try Requirement(placed.rule)
            isAtTrustedPlace = placed.isAtTrustedPlace
        } catch let error as RuleSyntaxError {
            throw ValidationError("\(error)")
        } catch let error as RuleError {
            throw ValidationError("\(error)")
        }
    }
}

/// `--available CLASS`.
enum AvailabilityArgument {
    static let names = AvailabilityClass.allCases.map(\.name)

    static func availability(named name: String) throws -> AvailabilityClass {
        guard let found = AvailabilityClass(name: name) else {
            throw ValidationError("Possible are: \(names.joined(separator: ", "))")
        }
        return found
    }
}
