import CommandFailures
import KeyAlgorithms
import OstiaryClient
import UnixSocket

/// A fault that the command itself finds, before or after it asked the daemon.
enum CommandError: Error, Equatable {
    /// The arguments do not go together, in a way that only running finds.
    case usage(String)
    case unreadableInput(SystemCallError)
    /// There is no file at the path of a program that is to be registered or adopted.
    case noProgram(path: String)
    case unwritableOutput(SystemCallError)
    case inputTooLarge(name: String, limit: Int)
    case emptySecret(name: String)
    /// The output is binary and standard output is a terminal that nobody chose.
    case binaryToTerminal
    case keyAlgorithm(KeyAlgorithmError)
    /// The person broke off where this command asked.
    case cancelled
    /// The item that was found holds no secret.
    case noData
    /// More than one key has the name.
    case ambiguousKey(name: String)
    /// A test run would stand beside a store of the user's; the reason says where.
    case ownStore(String)
    /// The command is about a user's own daemon, and the machine is in system mode. The sentence says what was not done.
    case systemMode(String)
    /// The command is about the machine's daemon, and the machine is in user mode. The sentence says what was not done.
    case userMode(String)
    /// The user's own store was not moved, or not removed; the sentences say why and what to do.
    case notMigrated(String)
    /// A program cannot have the group for itself. The sentences say why, and what to do.
    case ownGroup(String)
    /// Something would be destroyed or overwritten, and there is no terminal to ask on. The sentence says what.
    case consentNeeded(String)
    /// A key for SSH is not what is asked for, or cannot be read; the sentences say why and what to do.
    case sshKey(String)
    /// The surroundings of the agent cannot be changed; the sentences say why and what to do.
    case setup(String)
    /// The command of a test run or of `ostiary run`.
    case commandNotStarted(SystemCallError)
    /// No item is what the variable is to lead to.
    case noItem(name: String)
    /// Several items are.
    case ambiguousItem(name: String)
    /// The kernel does not permit the mount that would hold a command's secrets.
    case privateMount(SystemCallError)
    /// The secret for the variable holds a zero byte.
    case unfitForEnvironment(name: String)

    /// The stable number in JSON; those of the daemon are positive and those of the connection above -100.
    var code: Int {
        switch self {
        case .usage: -100
        case .unreadableInput, .noProgram: -101
        case .unwritableOutput: -102
        case .inputTooLarge: -103
        case .emptySecret: -104
        case .binaryToTerminal: -105
        case .keyAlgorithm: -106
        case .cancelled: -107
        case .ambiguousKey: -108
        case .noData: -109
        case .ownStore: -110
        case .commandNotStarted: -111
        case .consentNeeded: -112
        case .systemMode: -113
        case .userMode: -114
        case .notMigrated: -115
        case .ownGroup: -116
        case .sshKey: -169
        case .setup: -170
        case .noItem: -185
        case .ambiguousItem: -186
        case .privateMount: -187
        case .unfitForEnvironment: -188
        }
    }

    var failureClass: FailureClass {
        switch self {
        case .usage: FailureClass("usage", .usage)
        case .unreadableInput, .noProgram: FailureClass("unreadableInput", .failed)
        case .unwritableOutput: FailureClass("unwritableOutput", .failed)
        case .inputTooLarge: FailureClass("inputTooLarge", .failed)
        case .emptySecret: FailureClass("emptySecret", .failed)
        case .binaryToTerminal: FailureClass("binaryToTerminal", .usage)
        case .keyAlgorithm: FailureClass("keyAlgorithm", .failed)
        case .cancelled: FailureClass("cancelled", .refused)
        case .ambiguousKey: FailureClass("ambiguousKey", .failed)
        case .noData: FailureClass("noData", .failed)
        case .ownStore: FailureClass("ownStore", .refused)
        case .systemMode: FailureClass("systemMode", .refused)
        case .userMode: FailureClass("userMode", .refused)
        case .notMigrated: FailureClass("notMigrated", .failed)
        case .ownGroup: FailureClass("ownGroup", .failed)
        case .sshKey: FailureClass("sshKey", .failed)
        case .setup: FailureClass("setup", .failed)
        case .commandNotStarted: FailureClass("commandNotStarted", .failed)
        case .consentNeeded: FailureClass("consentNeeded", .refused)
        case .noItem: FailureClass("notFound", .failed)
        case .ambiguousItem: FailureClass("ambiguousItem", .failed)
        case .privateMount: FailureClass("privateMount", .failed)
        case .unfitForEnvironment: FailureClass("unfitForEnvironment", .failed)
        }
    }
}

extension CommandError: CustomStringConvertible {
    var description: String {
        switch self {
        case .usage(let explanation): explanation
        case .unreadableInput(let error): "The input cannot be read (\(error)); nothing was done."
        case .noProgram(let path): "There is no program at \(path). Nothing was done."
        case .unwritableOutput(let error): "The output cannot be written (\(error))."
        case .inputTooLarge(let name, let limit): "\(name) has more than \(limit) bytes, and more are not allowed."
        case .emptySecret(let name): "\(name) is empty; a secret has at least one byte. Nothing was stored."
        case .binaryToTerminal:
            "The output is not text, and standard output is a terminal. Name a file with --output FILE, redirect the "
                + "output, or force it with --output -."
        case .keyAlgorithm(let error): error.explanation
        case .cancelled: "Cancelled; nothing was done."
        case .noData: "The item holds no secret."
        case .ownStore(let reason):
            "Nothing was started, because \(reason), and a program of the test run could use it. Run as another user, or set "
                + "XDG_STATE_HOME and XDG_RUNTIME_DIR to empty folders."
        case .systemMode(let consequence):
            "\(ClientConfiguration.path) asks for the machine's daemon (mode = system). \(consequence)"
        case .userMode(let consequence):
            "\(ClientConfiguration.path) does not ask for the machine's daemon (mode = system). \(consequence)"
        case .notMigrated(let reason), .sshKey(let reason), .setup(let reason): reason
        case .ownGroup(let reason): "\(reason) Nothing was registered."
        case .commandNotStarted(let error): "The command cannot be started (\(error))."
        case .noItem(let name):
            "There is no item for \(name), so the command was not started. `ostiary item list` shows what there is."
        case .ambiguousItem(let name):
            "Several items match what is given for \(name), so the command was not started. Name one by its id, which `ostiary item "
                + "list` shows."
        case .privateMount(let error):
            "The kernel refuses a mount for this command alone (\(error)), and --file needs one; the command was not started. Use "
                + "--secret, or permit user namespaces (sysctl user.max_user_namespaces)."
        case .unfitForEnvironment(let name):
            "The secret for \(name) holds a zero byte, which a variable cannot; the command was not started. Use --secret or --file."
        case .consentNeeded(let loss):
            "\(loss) Nobody can be asked, so nothing was done. Give --force to do it without a question."
        case .ambiguousKey(let name):
            "Several keys are called \(name.quotedName); name one by its id, which `ostiary key list` shows."
        }
    }
}

extension KeyAlgorithmError {
    fileprivate var explanation: String {
        switch self {
        case .unsupportedAlgorithm: "The key cannot be used with this algorithm."
        case .invalidParameter(.digestLength):
            "The algorithm signs a digest, but the input does not have the length of a digest. To sign a message of "
                + "any length, use an algorithm without “digest” in its name."
        case .invalidParameter(let parameter): "An input was refused: \(parameter)."
        case .decryptionFailed: "The ciphertext does not belong to this key and algorithm."
        case .signatureMismatch: "The signature does not belong to this key, input and algorithm."
        case .computationFailed: "The key gave no usable result; `ostiary doctor` may say more."
        }
    }
}

/// The command printed a negative result. It ends with exit status 1 and prints nothing else.
struct NegativeResult: Error {}
