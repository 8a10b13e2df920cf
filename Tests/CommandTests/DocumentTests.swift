import AccessControl
import CommandFailures
import Foundation
import OstiaryClient
import OstiaryMessages
import Testing

@testable import ostiary

@Suite("JSON and text of results")
struct DocumentTests {
    static let status = WireStatus.with {
        $0.mode = .user
        $0.daemonVersion = "0.1.0"
        $0.processID = 41
        $0.stateDirectory = "/home/me/.local/state/ostiary"
        $0.enclaveKind = "software"
        $0.unlockedSinceStart = true
        $0.passcode = .with {
            $0.isSet = true
            $0.failedAttempts = 6
            $0.lockedOutSeconds = 61.5
        }
        $0.rights = .with {
            $0.count = 3
            $0.unreadableCount = 1
        }
        $0.factors = [
            .with {
                $0.factor = "passcode"
                $0.available = true
                $0.strength = "key-bound"
            },
            .with {
                $0.factor = "biometry"
                $0.strength = "broker-bound"
                $0.note = "no sensor"
            },
        ]
        $0.biometry = .with {
            $0.sensor = "Virtual reader"
            ($0.fingerCount, $0.missCount, $0.missLimit) = (2, 5, 5)
            ($0.obstacle, $0.explanation) = ("biometry.lockout", "Too many fingers were not recognised.")
            ($0.waitsForPasscode, $0.isSetKnown) = (true, true)
        }
        $0.logRecordCount = 120
        $0.caller = .with {
            $0.program = "/usr/bin/ostiary"
            $0.label = "advisory"
        }
    }

    @Test(arguments: [OstiaryError.Code.daemonUnavailable, .foreignServer])
    func `the doctor sends nobody but an administrator to the system's daemon`(code: OstiaryError.Code) {
        let error = OstiaryError(code, "It is not there.")
        let system = DaemonLocation.system(SystemDaemonLocation(socketPath: "/s", serverIDs: [0]))
        let advice = "The daemon is the machine's. Only an administrator can do what the message says."
        #expect(FindingDocument.unreachable(because: error, at: system).advice == advice)
        let own = DaemonLocation(runtimeDirectory: "/r", stateDirectory: "/s")
        for location in [own, nil] {
            #expect(FindingDocument.unreachable(because: error, at: location).advice != advice)
        }
    }

    @Test func `status has the documented keys`() throws {
        #expect(
            try JSONOutput.text(StatusDocument(Self.status), on: .oneLine) == """
                {"biometry":{"fingerCount":2,"isSetKnown":true,"missCount":5,"missLimit":5,\
                "obstacle":"biometry.lockout","reader":"Virtual reader","waitsForPasscode":true},\
                "daemonVersion":"0.1.0","enclave":"software","factors":[{"available":true,"factor":"passcode",\
                "note":"","strength":"key-bound"},{"available":false,"factor":"biometry","note":"no sensor",\
                "strength":"broker-bound"}],"logRecordCount":120,"mode":"user",\
                "passcode":{"failedAttempts":6,"isSet":true,"lockedOutSeconds":62},\
                "processID":41,"program":{"label":"advisory","path":"/usr/bin/ostiary"},\
                "rights":{"count":3,"unreadableCount":1},"stateDirectory":"/home/me/.local/state/ostiary",\
                "unlocked":false,"unlockedSinceStart":true}
                """)
    }

    @Test func `a daemon with options for tests is told apart`() {
        var status = Self.status
        status.mode = .userForTests
        let document = StatusDocument(status)
        #expect(document.mode == "user-for-tests")
        #expect(
            document.text.contains(
                "0.1.0, process 41, user mode, started with options for tests: see `ostiary doctor`"))
    }

    @Test func `status for people is a table`() {
        #expect(
            StatusDocument(Self.status).text == """
                Daemon        0.1.0, process 41, user mode
                State         /home/me/.local/state/ostiary
                Enclave       software
                Passcode      set, 6 wrong tries, locked out for 1 min 2 s
                Store         locked
                Reader        Virtual reader
                Fingers       2 enrolled, 5 of 5 wrong fingers. Too many fingers were not recognised.
                Rights        3, and 1 unreadable: see `ostiary right list`
                Audit log     120 records
                This program  /usr/bin/ostiary (advisory: another program of yours could imitate it)

                FACTOR    AVAILABLE  STRENGTH      NOTE
                passcode  yes        key-bound
                biometry  no         broker-bound  no sensor
                """)
    }

    private func fingerLines(_ change: (inout WireBiometryStatus) -> Void) -> [String] {
        let text = StatusDocument(.with { $0.biometry = .with(change) }).text
        return text.split(separator: "\n").filter { $0.hasPrefix("Reader") || $0.hasPrefix("Fingers") }.map(String.init)
    }

    @Test func `status tells apart: no reader, no finger, wrong fingers that nobody knows, a set that nobody knows`() {
        #expect(
            fingerLines { ($0.obstacle, $0.explanation, $0.missCount) = ("biometry.no-sensor", "None is there.", 0) }
                == [
                    "Reader        none: None is there.", "Fingers       none can be used",
                ])
        #expect(
            fingerLines { ($0.sensor, $0.missCount, $0.obstacle) = ("r", 0, "biometry.not-enrolled") } == [
                "Reader        r", "Fingers       none enrolled",
            ])
        #expect(
            fingerLines {
                ($0.sensor, $0.fingerCount, $0.isSetKnown) = ("r\u{1b}", 1, true)
                ($0.obstacle, $0.explanation) = ("biometry.record", "Enter the passcode.")
            } == [
                #"Reader        r\u{1b}"#, "Fingers       1 enrolled, wrong fingers unreadable. Enter the passcode.",
            ])
        #expect(
            fingerLines { ($0.sensor, $0.fingerCount, $0.missCount) = ("r", 1, 0) } == [
                "Reader        r", "Fingers       1 enrolled, current set unknown: see `ostiary doctor`",
            ])
        #expect(StatusDocument(WireStatus()).biometry == nil)
    }

    @Test func `wrong tries that nobody knows are not said to be none`() throws {
        let document = StatusDocument(.with { $0.passcode = .with { $0.isSet = true } })
        #expect(document.text.contains("Passcode      set, wrong tries unreadable: see `ostiary doctor`"))
        #expect(try JSONOutput.text(document, on: .oneLine).contains(#""passcode":{"isSet":true}"#))
        let none = StatusDocument(.with { $0.passcode = .with { $0.failedAttempts = 0 } })
        #expect(none.text.contains("Passcode      not set\n"))
        #expect(try JSONOutput.text(none, on: .oneLine).contains(#""passcode":{"failedAttempts":0,"isSet":false}"#))
    }

    @Test(
        arguments: [
            (.follows, "opens the store with the login password", "follows"),
            (.tries, "tries the login password", "tries"),
            (.waits, "tries no password until you enter the passcode: the last one was another", "waits"),
            (.never, "never tries the login password", "never"),
            (
                .unreadable, "unreadable, so it tries no password: decide with `ostiary passcode follow-login`",
                "unreadable"
            ),
        ] as [(WireLoginUse, String, String)])
    func `status says what a login does with its password`(use: WireLoginUse, words: String, word: String) throws {
        let document = StatusDocument(.with { $0.passcode = .with { ($0.isSet, $0.login) = (true, use) } })
        #expect(document.text.contains("\nLogin         \(words)\n"), "\(document.text)")
        let json = try JSONOutput.text(document, on: .oneLine)
        #expect(json.contains(#""passcode":{"isSet":true,"login":"\#(word)"}"#), "\(json)")
    }

    @Test(arguments: [WireLoginUse.unspecified, .UNRECOGNIZED(9)])
    func `status says nothing of a login that is not told`(use: WireLoginUse) throws {
        let document = StatusDocument(.with { $0.passcode = .with { ($0.isSet, $0.login) = (true, use) } })
        #expect(!document.text.contains("Login"))
        #expect(try !JSONOutput.text(document, on: .oneLine).contains("login"))
    }

    @Test func `nonsense in a status does no harm`() throws {
        let document = StatusDocument(
            .with {
                $0.mode = .UNRECOGNIZED(9)
                $0.passcode = .with {
                    $0.isSet = true
                    $0.lockedOutSeconds = .infinity
                }
            })
        #expect(document.mode == "unknown")
        #expect(document.text.contains("locked out for more than a century"))
        #expect(try JSONOutput.text(document).contains(#""lockedOutSeconds" : "inf""#))
    }

    // MARK: log

    static let record = WireLogRecord.with {
        $0.index = 12
        $0.time = 1_769_860_800.25
        $0.event = "authorize"
        $0.result = "refused"
        $0.program = "/usr/bin/app"
        $0.processID = 41
        $0.object = "2fa"
        $0.operation = "sign"
        $0.factors = ["passcode"]
        $0.strength = "key-bound"
        $0.reason = "wrong passcode"
        $0.repetitions = 3
    }

    @Test func `a record has the documented keys`() throws {
        #expect(
            try JSONOutput.text(LogRecordDocument(Self.record), on: .oneLine) == """
                {"event":"authorize","factors":["passcode"],"index":12,"object":"2fa","operation":"sign",\
                "processID":41,"program":"/usr/bin/app","reason":"wrong passcode","repetitions":3,"result":"refused",\
                "strength":"key-bound","time":"2026-01-31T12:00:00.250Z"}
                """)
    }

    @Test func `a record for people is one harmless line`() throws {
        let zone = try #require(TimeZone(secondsFromGMT: 0))
        #expect(
            LogRecordDocument(Self.record).text(in: zone) == """
                12  2026-01-31 12:00:00Z  refused  authorize/sign “2fa” by /usr/bin/app (41) with passcode (key-bound): \
                wrong passcode, 3 times
                """)
        var hostile = Self.record
        hostile.object = "a\n\u{1b}[2J\u{202e}"
        hostile.time = .nan
        let line = LogRecordDocument(hostile).text(in: zone)
        #expect(line.hasPrefix("12  unknown time  refused  authorize/sign “a\\u{a}\\u{1b}[2J\\u{202e}” by"))
        #expect(!line.contains("\n"))
        #expect(try JSONOutput.text(LogRecordDocument(hostile), on: .oneLine).contains(#""time":null"#))
    }

    @Test func `a verdict names the first record that does not fit`() throws {
        let broken = LogVerdictDocument(
            .with {
                $0.recordCount = 20
                $0.firstMisfit = 0
                $0.explanation = "its chain value differs"
                $0.sealsChecked = true
            })
        #expect(broken.text.hasPrefix("The log is NOT intact: record 0 is the first that does not fit (20 records)."))
        #expect(
            try JSONOutput.text(broken, on: .oneLine) == """
                {"explanation":"its chain value differs","firstMisfit":0,"intact":false,"recordCount":20,\
                "sealsChecked":true}
                """)
    }

    @Test func `a verdict says when the seals were not checked`() throws {
        let intact = LogVerdictDocument(
            .with {
                $0.intact = true
                $0.recordCount = 1
            })
        let warning = "Only the chain and its anchor were checked, not the seals."
        #expect(intact.text.hasPrefix("The log is intact: 1 record.\n\(warning)"))
        #expect(
            try JSONOutput.text(intact, on: .oneLine)
                == #"{"explanation":"","intact":true,"recordCount":1,"sealsChecked":false}"#)
    }

    // MARK: doctor

    @Test func `a diagnosis marks problems and gives advice`() throws {
        let diagnosis = DiagnosisDocument(findings: [
            .reachable,
            FindingDocument(
                .with {
                    $0.check = "memory"
                    $0.verdict = .notice
                    $0.message = "not locked"
                    $0.advice = "raise the limit"
                }),
        ])
        #expect(!diagnosis.hasProblem)
        #expect(
            diagnosis.text == """
                ok       connection: The daemon answers.
                notice   memory: not locked
                         raise the limit
                """)
        #expect(
            try JSONOutput.text(diagnosis, on: .oneLine) == """
                {"findings":[{"advice":"","check":"connection","message":"The daemon answers.","verdict":"ok"},\
                {"advice":"raise the limit","check":"memory","message":"not locked","verdict":"notice"}]}
                """)
    }

    @Test func `a repair says what became of the rows`() throws {
        let relisting = WireRelisting.with {
            ($0.list, $0.kept, $0.refused, $0.removed) = ("keychain\u{1b} items", 4, 1, 2)
        }
        let diagnosis = DiagnosisDocument(repaired: [RelistingDocument(relisting)], findings: [.reachable])
        #expect(
            diagnosis.text == """
                Rebuilt the list of keychain\\u{1b} items: 4 in use, 1 refused, 2 removed.
                ok       connection: The daemon answers.
                """)
        #expect(
            try JSONOutput.text(diagnosis, on: .oneLine).hasSuffix(
                #""repaired":[{"kept":4,"list":"keychain\u001b items","refused":1,"removed":2}]}"#))
        let whole = DiagnosisDocument(repaired: [], findings: [])
        #expect(whole.text == "Every list of the store verifies, so nothing was repaired.")
    }

    @Test(arguments: [WireFinding.Verdict.problem, .unspecified, .UNRECOGNIZED(9)])
    func `a verdict that is not known to be good is a problem`(verdict: WireFinding.Verdict) {
        let diagnosis = DiagnosisDocument(findings: [FindingDocument(.with { $0.verdict = verdict })])
        #expect(diagnosis.hasProblem)
        #expect(diagnosis.text.hasPrefix("PROBLEM"))
    }

    // MARK: errors

    @Test func `an error has the documented keys`() throws {
        let document = FailureDocument(code: 27, name: "lockedOut", message: "Wait.", retryAfterSeconds: 240)
        #expect(
            document.line
                == #"{"error":{"code":27,"message":"Wait.","name":"lockedOut","retryAfterSeconds":240}}"#)
        #expect(
            try JSONOutput.text(FailureDocument(code: -1, name: "a", message: "b"), on: .oneLine)
                == #"{"code":-1,"message":"b","name":"a"}"#)
    }

    @Test func `a proof names factors and strength`() {
        #expect(
            AuthorizedRight.proof(factors: ["biometry", "passcode"], strength: "key-bound")
                == "biometry, passcode (key-bound)")
        #expect(AuthorizedRight.proof(factors: [], strength: "") == "nothing had to be proved")
    }
}
