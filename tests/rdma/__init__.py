"""NFS over RDMA: captures of a Linux 7.2 client and server over Soft-RoCE, 0.6 ms apart.

`truth.json` holds what the server's kernel counted while they ran (`/proc/net/rpc/nfsd`), and the
tree that was left, as the server listed it.
"""
