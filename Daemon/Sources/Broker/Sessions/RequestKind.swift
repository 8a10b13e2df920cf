import OstiaryWire

/// Every request that a caller can send.
enum RequestKind: String, CaseIterable, Sendable {
    case hello, status, cancel
    case openContext, closeContext, deauthorize, setCredential, credentialState, evaluatePolicy, authorize
    case createRight, findRight, listRights, removeRight, removeAllRights
    case sign, decrypt, exchange, readSecret
    case passcode, lock, readLog, verifyLog, diagnose, repair
    case addItem, findItems, updateItems, deleteItems
    case evaluateAccessControl, createKey, findKey, listKeys, removeKey, decapsulate
    case registerApplication, listApplications, removeApplication

    init(_ body: WireRequest.OneOf_Body) {
        self =
            switch body {
            case .hello: .hello
            case .status: .status
            case .cancel: .cancel
            case .openContext: .openContext
            case .closeContext: .closeContext
            case .deauthorize: .deauthorize
            case .setCredential: .setCredential
            case .credentialState: .credentialState
            case .evaluatePolicy: .evaluatePolicy
            case .authorize: .authorize
            case .createRight: .createRight
            case .findRight: .findRight
            case .listRights: .listRights
            case .removeRight: .removeRight
            case .removeAllRights: .removeAllRights
            case .sign: .sign
            case .decrypt: .decrypt
            case .exchange: .exchange
            case .readSecret: .readSecret
            case .passcode: .passcode
            case .lock: .lock
            case .readLog: .readLog
            case .verifyLog: .verifyLog
            case .diagnose: .diagnose
            case .repair: .repair
            case .addItem: .addItem
            case .findItems: .findItems
            case .updateItems: .updateItems
            case .deleteItems: .deleteItems
            case .evaluateAccessControl: .evaluateAccessControl
            case .createKey: .createKey
            case .findKey: .findKey
            case .listKeys: .listKeys
            case .removeKey: .removeKey
            case .decapsulate: .decapsulate
            case .registerApplication: .registerApplication
            case .listApplications: .listApplications
            case .removeApplication: .removeApplication
            }
    }

    /// Whether a program may send it whose file is not the one that was registered: what names no object, and what ends
    /// something. Everything else would be done in the name of another program.
    var isOpenToChangedPrograms: Bool {
        switch self {
        case .hello, .status, .cancel, .closeContext, .deauthorize, .lock, .readLog, .verifyLog, .diagnose, .passcode,
            .registerApplication, .listApplications, .removeApplication:
            true
        default: false
        }
    }
}
