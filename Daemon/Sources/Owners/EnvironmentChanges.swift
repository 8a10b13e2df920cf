/// How often something may have changed how a user can be authenticated.
package struct EnvironmentChanges: Equatable, Sendable {
    private var all: UInt64 = 0
    /// Those that the sensor must be asked about.
    package private(set) var ofSensor: UInt64 = 0

    package init() {}

    package mutating func count(ofSensor isOfSensor: Bool) {
        all += 1
        if isOfSensor { ofSensor += 1 }
    }
}
