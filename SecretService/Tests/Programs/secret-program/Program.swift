import Glibc
import SecretProgramSupport

/// A program of the session: `secret-program ADDRESS COMMAND ARGUMENT…`. It prints what it got, or `error NAME`.
///
/// | command | does |
/// | --- | --- |
/// | `create LABEL NAME=VALUE SECRET` | makes an item in `login`, and prints its path |
/// | `delete PATH` | deletes an item or a collection |
/// | `get NAME=VALUE` | prints the secret of the first item that is found unlocked; first has a locked one unlocked |
/// | `secret PATH` | prints the secret of an item |
/// | `plain PATH` | the same in a session without encryption |
/// | `twice PATH` | reads the secret two times, and prints both |
/// | `late PATH GAVE_UP OVER` | makes the file GAVE_UP when it waits no more; reads again once the answer came, and stays until OVER is there |
/// | `stay PATH` | prints the secret of an item, and prints it again when its standard input ends |
/// | `count NAME=VALUE` | prints `ready`, and how many items it finds when its standard input has ended |
/// | `replace LABEL NAME=VALUE SECRET` | makes an item in `login`, in the place of one with the same attribute, and prints its path |
/// | `flood COUNT` | sends so many calls to the Secret Service and to the portal, each with 16 descriptors, and prints `answered` or `nothing` for the last one |
/// | `unlock COUNT` | has 12 calls unlock so many items that are not there: prints `sent`, and `answered` when all are |
/// | `collection LABEL` | makes a collection, and prints its path |
/// | `dismiss NAME=VALUE SHOWN OVER` | has an item unlocked, and dismisses that once the file SHOWN is there; prints how it ended, once OVER is |
@main
struct Program {
    static func main() {
        do { try run(Array(CommandLine.arguments.dropFirst())) } catch BusProgramError.answered(let name) {
            print("error \(name)")
            exit(1)
        } catch {
            print("failed: \(error)")
            exit(2)
        }
    }

    private static func run(_ words: [String]) throws {
        guard words.count >= 3 else { throw BusProgramError.call("wrong usage") }
        let program = try SecretProgram(words[0])
        switch words[1] {
        case "flood": return try flood(program.bus, Int(words[2]) ?? 0)
        case "unlock": return try unlock(Int(words[2]) ?? 0, program)
        case "collection": return tell(try program.makeCollection(words[2]))
        default: break
        }
        let session = try program.openEncryptedSession()
        switch (words[1], words.count) {
        case ("create", 5): print(try program.create(words[2], attributes(words[3]), words[4], session: session))
        case ("delete", 3):
            let isItem = words[2].split(separator: "/").count == 6
            _ = try program.call(words[2], isItem ? "Item" : "Collection", "Delete")
            print("deleted")
        case ("get", 3): print(try program.secret(item(attributes(words[2]), program), session: session))
        case ("plain", 3): print(try program.secret(words[2], session: program.openSession()))
        case ("secret", 3): print(try program.secret(words[2], session: session))
        case ("twice", 3):
            print(try program.secret(words[2], session: session))
            print(try program.secret(words[2], session: session))
        case ("late", 5):
            try tell(lateSecret(words[2], words[3], program, session))
            wait(for: words[4])
        case ("stay", 3):
            try tell(program.secret(words[2], session: session))
            waitForEndOfInput()
            try tell(program.secret(words[2], session: session))
        case ("count", 3):
            tell("ready")
            waitForEndOfInput()
            try tell("\(program.search(attributes(words[2])).unlocked.count)")
        case ("replace", 5):
            print(try program.create(words[2], attributes(words[3]), words[4], session: session, replacing: true))
        case ("dismiss", 5): print(try dismissed(attributes(words[2]), words[3], words[4], program))
        default: throw BusProgramError.call("wrong usage")
        }
    }

    /// The application's descriptor, and fifteen that nobody asked for.
    private static func flood(_ bus: BusProgram, _ count: Int) throws {
        var last: BusProgram.Pending?
        let surplus = (0..<15).map { "d\($0)" }
        for _ in 0..<count {
            for name in [SecretProgram.service, "org.freedesktop.impl.portal.desktop.ostiary"] {
                let values: [BusDatum] = [
                    .path("/org/freedesktop/portal/desktop/request/1_5/one"), .text("org.example.App"),
                    .descriptor(STDIN_FILENO),
                    .properties(Dictionary(uniqueKeysWithValues: surplus.map { ($0, .descriptor(STDIN_FILENO)) })),
                ]
                last = try sendWhenPossible(bus, to: name, values)
            }
        }
        guard let last else { return }
        do { _ = try bus.answer(last, seconds: 60) } catch BusProgramError.answered { return tell("answered") }
        tell("nothing")
    }

    /// The kernel lets a user have only so many descriptors on their way.
    private static func sendWhenPossible(
        _ bus: BusProgram, to name: String, _ values: [BusDatum]
    ) throws -> BusProgram.Pending {
        for _ in 0..<6_000 {
            do {
                return try bus.send(
                    "/org/freedesktop/portal/desktop", "org.freedesktop.impl.portal.Secret", "RetrieveSecret", to: name,
                    values)
            } catch BusProgramError.call { usleep(10_000) }
        }
        throw BusProgramError.call("the descriptors stay on their way")
    }

    private static func unlock(_ count: Int, _ program: SecretProgram) throws {
        let digits = { (number: Int) in
            let text = String(number, radix: 16)
            return String(repeating: "0", count: 32 - text.utf8.count) + text
        }
        let paths = (0..<count).map { "\(SecretProgram.login)/\(digits($0))" }
        let calls = try (0..<12).map { _ in
            try program.send(SecretProgram.root, "Service", "Unlock", [.paths(paths)])
        }
        tell("sent")
        for call in calls {
            do { _ = try program.bus.answer(call, seconds: 3_000) } catch BusProgramError.answered {}
        }
        tell("answered")
    }

    private static func attributes(_ text: String) -> [String: String] {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        return parts.count == 2 ? [parts[0]: parts[1]] : [:]
    }

    /// Prints a line at once, also into a file.
    private static func tell(_ line: String) {
        print(line)
        fflush(nil)
    }

    private static func waitForEndOfInput() {
        while readLine() != nil {}
    }

    /// What a program gets whose library gave up waiting: its first answer comes when it waits no more.
    private static func lateSecret(
        _ path: String, _ file: String, _ program: SecretProgram, _ session: String
    ) throws -> String {
        let first = try program.send(path, "Item", "GetSecret", [.path(session)])
        do {
            _ = try program.bus.answer(first, seconds: 0.2)
            throw BusProgramError.call("the answer was in time")
        } catch BusProgramError.call("no answer came") { try make(file) }
        _ = try program.bus.answer(first)
        return try program.secret(path, session: session)
    }

    private static func dismissed(
        _ attributes: [String: String], _ shown: String, _ over: String, _ program: SecretProgram
    ) throws -> String {
        guard let item = try program.search(attributes).locked.first else {
            throw BusProgramError.answered("nothing was found")
        }
        let (_, prompt) = try program.unlock([item])
        try program.show(prompt)
        wait(for: shown)
        _ = try program.call(prompt, "Prompt", "Dismiss")
        let (isDismissed, result) = try program.completion(of: prompt)
        wait(for: over)
        return "dismissed \(isDismissed), unlocked \(result.paths?.count ?? -1)"
    }

    private static func make(_ file: String) throws {
        let number = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw BusProgramError.call("open: \(String(cString: strerror(errno)))") }
        close(number)
    }

    private static func wait(for file: String) {
        while access(file, F_OK) != 0 { usleep(10_000) }
    }

    private static func item(_ attributes: [String: String], _ program: SecretProgram) throws -> String {
        let found = try program.search(attributes)
        if let item = found.unlocked.first { return item }
        guard let item = found.locked.first else { throw BusProgramError.answered("nothing was found") }
        let (_, prompt) = try program.unlock([item])
        try program.show(prompt)
        guard try !program.completion(of: prompt).isDismissed else { throw BusProgramError.answered("dismissed") }
        return item
    }
}
