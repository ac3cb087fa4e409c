"""Numbers of the RPC programs that analyses and commands ask for (IANA, RFC 5531 section 13)."""

NFS = 100003
"""NFS, all versions."""

NFSACL = 100227
"""The protocol for access control lists beside NFSv2 and v3."""

NFS_PROGRAMS = (NFS, NFSACL)
"""Programs whose calls are NFS to a user, and whose replies bring attributes."""
