import ProcessFacts
import Testing

@Suite("Control groups")
struct ControlGroupsTests {
    @Test(
        arguments: [
            "0::/system.slice/backup.service\n", "0::/system.slice/backup.service/of/its/own\n",
            "0::/system.slice/system-getty.slice/getty@tty1.service\n",
            "12:cpu:/whatever\n1:name=systemd:/system.slice/a.service\n0::/system.slice/a.service\n",
        ])
    func `a service of the machine is known by its group`(text: String) {
        #expect(ControlGroups.areOfSystemUnit(text))
    }

    @Test(
        arguments: [
            "", "0::/\n", "0::/user.slice/user-1000.slice/session-2.scope\n",
            "0::/user.slice/user-1000.slice/user@1000.service/system.slice/a.service\n",
            "0::/system.slice/user@1000.service/a.service\n", "0::/system.slice\n", "0::/system.slice/a.scope\n",
            "0::/system.slicex/a.service\n", "3:cpu:/system.slice/a.service\n",
            "1:name=systemd:/system.slice/a.service\n0::/user.slice/a.service\n", "/system.slice/a.service\n",
        ])
    func `every other group is none`(text: String) {
        #expect(!ControlGroups.areOfSystemUnit(text))
    }
}
