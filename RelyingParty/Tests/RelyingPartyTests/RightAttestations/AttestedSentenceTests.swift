import AccessControl
import Foundation
import Testing

@testable import AttestationVerification

/// A sentence stands in a report if and only if its fact holds, and names the source that vouches for it.
@Suite struct AttestedSentenceTests {
    private struct Expectation: Sendable {
        let source: AttestedSentence.Source
        /// A part of one sentence.
        let text: String
        let holds: @Sendable (AccessControl, _ needsPasscode: Bool) -> Bool
    }

    private static let expectations: [Expectation] = [
        Expectation(source: .chip, text: "made inside this TPM and cannot leave it") { _, _ in true },
        Expectation(source: .chip, text: "The TPM's certificate has the SHA-256 digest") { _, _ in true },
        Expectation(source: .chip, text: "The digest of this rule was fixed") { _, _ in true },
        Expectation(source: .chip, text: "At this statement the TPM had been reset") { _, _ in true },
        Expectation(source: .chip, text: "The TPM uses the key only for") { rule, _ in !rule.confirmsEachSignature },
        Expectation(source: .chip, text: "The TPM certifies the key only") { rule, _ in rule.confirmsEachSignature },
        Expectation(source: .chip, text: "only a digest that a second key") { rule, _ in rule.confirmsEachSignature },
        Expectation(source: .chip, text: "The second key was fixed") { rule, _ in rule.confirmsEachSignature },
        Expectation(source: .chip, text: "asks for no passcode before it loads") { _, passcode in !passcode },
        Expectation(source: .chip, text: "loads the key only for a program that brings") { _, passcode in passcode },
        Expectation(source: .chip, text: "takes 10 wrong values in a row and then none") { _, passcode in passcode },
        Expectation(source: .daemon, text: "Ostiary's daemon made this key") { _, _ in true },
        Expectation(source: .daemon, text: "comes from a passcode that a person typed") { _, passcode in passcode },
        Expectation(source: .daemon, text: "lets the index be written again was thrown away") { _, passcode in
            passcode
        },
        Expectation(source: .daemon, text: "How long the key stays loaded") { rule, passcode in
            passcode && !rule.confirmsEachSignature
        },
        Expectation(source: .daemon, text: "That a passcode was typed, where it was") { rule, passcode in
            !passcode && rule.keyRequirement.factors.contains(.passcode)
        },
        Expectation(source: .daemon, text: "The second key exists only while") { rule, _ in
            rule.confirmsEachSignature
        },
        Expectation(source: .daemon, text: "Before each approval a person was shown") { rule, _ in
            rule.confirmsEachSignature
        },
        Expectation(source: .daemon, text: "a finger or face was recognised") { rule, _ in
            rule.keyRequirement.factors.contains(.biometry) || rule.keyRequirement.factors.contains(.biometryCurrentSet)
        },
        Expectation(source: .daemon, text: "a security key took part") { rule, _ in
            rule.keyRequirement.factors.contains(.securityKey)
        },
        Expectation(source: .daemon, text: "the password of the program was given") { rule, _ in
            rule.keyRequirement.factors.contains(.applicationPassword)
        },
        Expectation(source: .daemon, text: "this key demands no person") { rule, _ in
            rule.keyRequirement.isUnrestricted
        },
    ]

    private static let rules = [
        "unrestricted", "passcode", "biometry", "biometry-current-set", "security-key", "application-password",
        "passcode or biometry", "passcode or security-key", "passcode and application-password",
        "(passcode and biometry) or (passcode and security-key)", "biometry and security-key",
    ]

    @Test(arguments: rules, [false, true])
    func `each sentence stands where its fact holds, and nowhere else`(_ rule: String, _ confirms: Bool) throws {
        let requirement = try Requirement(Rule(parsing: rule))
        let control =
            confirms
            ? AccessControl(availability: .whenUnlocked, confirmingEachSignatureWith: requirement)
            : AccessControl(availability: .whenUnlocked, using: requirement)
        let attestation = try TestRightStatement(for: control).verify()
        let needsPasscode = requirement.alternatives.allSatisfy { $0.contains(.passcode) }
        #expect((attestation.passcode != nil) == needsPasscode)
        let sentences = attestation.sentences
        for expectation in Self.expectations {
            let found = sentences.filter { $0.text.contains(expectation.text) }
            #expect(
                found.map(\.source) == (expectation.holds(control, needsPasscode) ? [expectation.source] : []),
                "\(expectation.text)")
        }
        // And there are no others.
        for sentence in sentences {
            #expect(Self.expectations.count { sentence.text.contains($0.text) } == 1, "\(sentence.text)")
        }
        #expect(sentences.contains { $0.text.hasSuffix(": \(requirement).") })
    }

    @Test func `the chip vouches for nothing that a person did`() throws {
        for right in Recording.Right.allCases {
            let attestation = try RightAttestation(
                verifying: Recording.statement(on: right), challenge: Recording.challenge(), by: Recording.knownKey())
            for sentence in attestation.sentences where sentence.source == .chip {
                for word in ["person", "shown", "typed", "finger", "daemon"] {
                    #expect(!sentence.text.contains(word), "\(sentence.text)")
                }
            }
        }
    }

    @Test func `counts are those of the chip`() throws {
        var statement = try TestRightStatement()
        statement.changeIndexInfo = { $0.rest = [0, 0] + sized([0, 0, 0, 7, 0, 0, 0, 9]) }
        let clock: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 41, 0, 0, 0, 42, 1]
        let (key, index) = (statement.changeKeyInfo, statement.changeIndexInfo)
        statement.changeKeyInfo = {
            try key(&$0)
            $0.clock = clock
        }
        statement.changeIndexInfo = {
            try index(&$0)
            $0.clock = clock
        }
        let attestation = try statement.verify()
        #expect(attestation.chip.resetCount == 41 && attestation.chip.restartCount == 42)
        #expect(attestation.chip.clock == 1 && attestation.chip.isClockSafe)
        let texts = attestation.sentences.map(\.text)
        #expect(texts.contains { $0.contains("takes 9 wrong values") && $0.contains("now 7 were wrong") })
        #expect(texts.contains { $0.contains("reset 41 times") && $0.contains("restarted 42 times") })
    }
}
