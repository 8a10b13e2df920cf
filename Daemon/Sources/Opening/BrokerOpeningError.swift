package import Owners

/// Why the daemon cannot serve the store. Each says what to do; none changes anything.
package enum BrokerOpeningError: Error, Equatable, CustomStringConvertible {
    case stateDirectory(path: String, String)
    case enclave(String)
    case store(String)
    case log(String)
    case clock(String)
    case owner(OwnerOpeningError)

    package var description: String {
        switch self {
        case .stateDirectory(let path, let what): "The state folder \(path) \(what)"
        case .enclave(let what), .store(let what), .log(let what), .clock(let what): what
        case .owner(let error): error.description
        }
    }
}
