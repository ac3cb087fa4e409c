"""Numbers of the RPC programs that stand beside NFS (IANA, RFC 5531 section 13)."""

PORTMAPPER = 100000
"""rpcbind: on which port a program listens."""

NFS = 100003
"""NFS, all versions."""

MOUNT = 100005
"""The first file handle of an NFSv2 or v3 mount."""

RQUOTA = 100011
"""Remote quotas."""

NLM = 100021
"""Locks beside NFSv2 and v3."""

NSM = 100024
"""Who restarted, for the locks."""

NFSACL = 100227
"""The protocol for access control lists beside NFSv2 and v3."""

NFS_PROGRAMS = (NFS, NFSACL)
"""Programs whose calls are NFS to a user, and whose replies bring attributes."""

NFS_PORT = 2049
"""The port of NFS (RFC 7530 section 3.1)."""

ROCE_PORT = 4791
"""The UDP port of RoCE version 2, which carries RDMA (InfiniBand Architecture Specification, annex
A17)."""
