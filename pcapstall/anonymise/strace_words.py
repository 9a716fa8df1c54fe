"""The words that strace itself prints: calls, fields, constants, what errors are called; any other word is somebody's.

Tables, from strace 6.1 and the kernel's headers; what is missing is replaced, which costs a reader a word. Where such
words stand in a line is known to `strace_text`.
"""

from typing import Final

_CALLS: Final = """
    Interrupted PID Process Script Timeout _llseek _newselect _sysctl accept accept4 access acct add_key addr addrlen
    adjtimex afs_syscall alarm arch_prctl arg argc args argv attached bdflush bind bit block bpf break brk buffer by
    bytes cachestat call calls cap capget caps capset cgroup char chdir chmod chown chown32 chroot clock_adjtime
    clock_adjtime64 clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep
    clock_nanosleep_time64 clock_settime clock_settime64 clone clone3 close close_range cmd cmsg code connect
    copy_file_range core count cpu cpuset cq cqes creat create_module cur data delayed delete_module deleted detached
    dev domain domainname dropped dumped dup dup2 dup3 effective end entries entry env envp epoll_create epoll_create1
    epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old errors eventfd eventfd2 events except exe
    execve execveat exit exit_group exited faccessat faccessat2 fadvise64 fadvise64_64 fallocate false family
    fanotify_init fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchown32 fchownat fcntl fcntl64 fd fdatasync fds
    features fgetxattr file_getattr file_setattr filter finit_module flags flistxattr flock fmode fork freeram
    fremovexattr from fsconfig fsetxattr fsmount fsopen fspick fstat fstat64 fstatat fstatat64 fstatfs fstatfs64 fsync
    ftime ftruncate ftruncate64 futex futex_requeue futex_time64 futex_wait futex_waitv futex_wake futimesat
    get_kernel_syms get_mempolicy get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid getegid32
    geteuid geteuid32 getgid getgid32 getgroups getgroups32 getitimer getpeername getpgid getpgrp getpid getpmsg getppid
    getpriority getrandom getresgid getresgid32 getresuid getresuid32 getrlimit getrusage getsid getsockname getsockopt
    gettid gettimeofday getuid getuid32 getxattr getxattrat gid group groups gtty handler hard how htonl htons id idle
    ids in inheritable init_module inject injected ino inode inotify_add_watch inotify_init inotify_init1
    inotify_rm_watch interrupted io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64 io_setup io_submit
    io_uring_enter io_uring_register io_uring_setup ioctl ioperm iopl ioprio_get ioprio_set ipc jf jt k kcmp
    kexec_file_load kexec_load keyctl kill killed landlock_add_rule landlock_create_ruleset landlock_restrict_self
    lchown lchown32 left len length lgetxattr link linkat listen listmount listxattr listxattrat llistxattr llseek loads
    lock lookup_dcookie lremovexattr lseek lsetxattr lsm_get_self_attr lsm_list_modules lsm_set_self_attr lstat lstat64
    machine madvise major makedev map_shadow_stack mask max mbind membarrier memfd_create memfd_secret migrate_pages
    mincore minor mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mmap2 mode modify_ldt mount mount_setattr
    move_mount move_pages mprotect mpx mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64
    mq_timedsend mq_timedsend_time64 mq_unlink mremap mseal msg msgctl msgget msgrcv msgsnd msync munlock munlockall
    munmap name name_to_handle_at nanosleep new newfstatat nfds nfsservctl nice node nodename ntohs offset old oldfstat
    oldlstat oldolduname oldstat olduname opcode open open_by_handle_at open_tree open_tree_attr openat openat2 out
    overflow pause perf_event_open permitted personality pgid pgroup pid pidfd pidfd_getfd pidfd_open pidfd_send_signal
    pipe pipe2 pivot_root pkey_alloc pkey_free pkey_mprotect poll port ppoll ppoll_time64 prctl pread64 preadv preadv2
    prefix prlimit64 process_madvise process_mrelease process_vm_readv process_vm_writev procs prof profil proto
    protocol pselect6 pselect6_time64 ptr ptrace putpmsg pwrite64 pwritev pwritev2 query_module quotactl quotactl_fd
    read readahead readdir readlink readlinkat readv reboot recvfrom recvmmsg recvmmsg_time64 recvmsg release
    remap_file_pages removexattr removexattrat rename renameat renameat2 request_key resolve restart_syscall resumed
    resuming resv revents rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
    rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo runs s sched_get_priority_max
    sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval
    sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp
    seconds security select semctl semget semop semtimedop semtimedop_time64 sendfile sendfile64 sendmmsg sendmsg sendto
    set set_mempolicy set_mempolicy_home_node set_robust_list set_thread_area set_tid_address setdomainname setfsgid
    setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 sethostname setitimer setns setpgid setpriority
    setregid setregid32 setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setrlimit setsid setsockopt
    settimeofday setuid setuid32 setxattr setxattrat sgetmask shmat shmctl shmdt shmget shutdown sid sigaction
    sigaltstack sigmask signal signalfd signalfd4 sigpending sigprocmask sigreturn sigsuspend sin sin6 size socket
    socketcall socketpair soft splice sq sqes ssetmask st stack start stat stat64 statfs statfs64 statmount status statx
    stime stopped strace stty superseded swapoff swapon symlink symlinkat sync sync_file_range sync_file_range2 syncfs
    syscall sysfs sysinfo syslog sysname system tee terminated tgkill threads tid time timeout timer_create timer_delete
    timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64 timerfd_create timerfd_gettime
    timerfd_gettime64 timerfd_settime timerfd_settime64 times tkill tls to total totalram true truncate truncate64
    tuxcall type u32 u64 ugetrlimit uid ulimit umask umount umount2 uname unavailable unfinished unlink unlinkat unshare
    unterminated uprobe uptime uretprobe usecs uselib user userfaultfd ustat utime utimensat utimensat_time64 utimes
    value vars version vfork vhangup vm86 vm86old vmsplice vserver wait4 waitid waitpid with write writev
"""
"""System calls, and names of arguments and results that are one word."""

_FIELDS: Final = """
    act_mask adjust_phase advised_hashlevel advised_hashsize advised_hashstep aio_buf aio_data aio_fildes aio_flags
    aio_key aio_lio_opcode aio_nbytes aio_offset aio_reqprio aio_resfd aio_rw_flags alloc_delay_data allowed_access
    apic_base arbitration_lost attach_bpf_fd attach_btf_id attach_flags attach_prog_fd attack_length attack_level
    attr_clr attr_set aux_output aux_sample_size aux_watermark avg_time base_addr batch_size bbr_bw_hi bbr_bw_lo
    bbr_cwnd_gain bbr_min_rtt bbr_pacing_gain bind_address_no_port bp_addr bp_len bp_type bpf_cookie bpf_event
    branch_sample_type btf_key_type_id btf_log_buf btf_log_level btf_log_size btf_size btf_value_type_id
    btf_vmlinux_value_type_id buf_index buf_len buf_nr buf_ptr build_id bus_error bus_info bus_off bytes_deduped
    bytes_left bytes_missing bytes_used c_cc c_cflag c_iflag c_ispeed c_lflag c_line c_oflag c_ospeed cancel_id
    cell_align cell_log child_pid child_stack child_tid child_tidptr clone_sources clone_sources_count cmd_len cmsg_data
    cmsg_len cmsg_level cmsg_type comm_exec compat_ro_flags compress_type consumer_label context_switch corrected_errors
    cq_entries cq_off created_by_uid cross_timestamping cru_driver_name cru_flags cru_mask cru_module_name cru_name
    cru_refcnt cru_type csum_discards csum_errors csum_size csum_type ctl_type ctrl_class ctx_in ctx_out ctx_size_in
    ctx_size_out custom_data custom_len d_bcount d_blk_hardlimit d_blk_softlimit d_btimer d_bwarns d_fieldmask d_icount
    d_ino d_ino_hardlimit d_ino_softlimit d_itimer d_iwarns d_name d_off d_queue_depth d_reclen d_rtb_hardlimit
    d_rtb_softlimit d_rtbcount d_rtbtimer d_rtbwarns d_version data_bytes_scrubbed data_extents_scrubbed data_in
    data_out data_size_in data_size_out data_start dcb_family dctcp_ab_ecn dctcp_ab_tot dctcp_alpha dctcp_ce_state
    dctcp_enabled debounce_period_us default_value default_values defer_connect dest_count dest_fd dest_offset dev_idx
    device_caps device_status diag_fallback diag_shutdown din_iovec_count din_resid din_xfer_len din_xferp
    dispatch_event dout_iovec_count dout_resid dout_xfer_len dout_xferp dqb_bhardlimit dqb_bsoftlimit dqb_btime
    dqb_curinodes dqb_curspace dqb_id dqb_ihardlimit dqb_isoftlimit dqb_itime dqb_valid dqi_bgrace dqi_flags dqi_igrace
    dqi_valid driver_status dst_reg dxfer_direction dxfer_len ee_code ee_data ee_errno ee_info ee_origin ee_type
    elem_cnt elem_flags elem_missed elem_size enable_on_exec end_lba end_level entropy_count entry_ct entry_number
    error_idx error_passive error_warning event_buffer_size event_nr ewma_log exclude_callchain_kernel
    exclude_callchain_user exclude_guest exclude_host exclude_hv exclude_idle exclude_kernel exclude_user exec_fd
    exit_code exit_signal expected_attach_type extent_thresh extra_data f_bavail f_bfree f_blocks f_bsize f_ffree
    f_files f_flags f_frsize f_fsid f_handle f_namelen f_type fade_length fade_level fd_array fd_type fe_flags fe_length
    fe_logical fe_physical file_flags file_index filter_devtype_hash filter_mask filter_off filter_subsystem_hash
    filter_tag_bloom_hi filter_tag_bloom_lo fm_extent_count fm_extents fm_flags fm_length fm_mapped_extents fm_start
    fs_base fsa_ax25 fsa_digipeater fsx_cowextsize fsx_extsize fsx_nextents fsx_projid fsx_xflags func_info_cnt
    func_info_rec_size gen_caps generated_tag get_ns_hierarchy global_alpha gpl_compatible gr_group gr_interface gs_base
    guest_phys_addr h_cmd_per_lun handle_bytes handle_type handled_access_fs hci_channel hci_dev header_size host_no
    host_status idiag_cookie idiag_dbs idiag_dport idiag_dst idiag_dst_len idiag_expires idiag_ext idiag_family
    idiag_fmem idiag_if idiag_inode idiag_retrans idiag_rmem idiag_rqueue idiag_sport idiag_src idiag_src_len
    idiag_state idiag_states idiag_timer idiag_tmem idiag_uid idiag_wmem idiag_wqueue ids_len if_nametoindex ifa_family
    ifa_flags ifa_index ifa_prefered ifa_prefixlen ifa_scope ifa_valid ifal_family ifal_flags ifal_index ifal_prefixlen
    ifal_seq ifc_buf ifc_len ifi_change ifi_family ifi_flags ifi_index ifi_type ifr_addr ifr_broadaddr ifr_dstaddr
    ifr_flags ifr_hwaddr ifr_ifindex ifr_index ifr_map ifr_metric ifr_mtu ifr_name ifr_netmask ifr_newname ifr_qlen
    ifr_slave igmp_leaves igmp_parse_errors igmp_v1queries igmp_v1reports igmp_v2queries igmp_v2reports igmp_v3queries
    igmp_v3reports impl_caps impl_id imr_interface imr_multiaddr in2_len in6_addr in_batch in_len incompat_flags
    inet_addr inet_ntop inet_pton inherit_stat inherit_thread inner_map_fd insn_cnt instruction_pointer interface_id
    interrupt_bitmap io_size iov_base iov_len ipi_addr ipi_ifindex ipi_spec_dst ipv6mr_interface ipv6mr_multiaddr
    is_icsk it_interval it_value iter_info iter_info_len jited_line_info_rec_size jited_prog_insns jited_prog_len kb_cnt
    kb_func kb_index kb_string kb_table kb_value kern_version key_id key_len kprobe_multi l2_bdaddr_type l2_cid l2_psm
    l_len l_linger l_onoff l_pid l_start l_type l_whence last_op last_physical limit_in_pages line_info_cnt line_offset
    link_create link_fd link_id link_state link_update lo_crypt_name lo_device lo_encrypt_key lo_encrypt_key_size
    lo_encrypt_type lo_file_name lo_flags lo_init lo_inode lo_name lo_number lo_offset lo_rdevice lo_sizelimit load_time
    malloc_errors map_extra map_flags map_id map_ifindex map_name map_type masked_status max_adj max_beb_per1024
    max_data_size max_dec_size max_enc_size max_entries max_excl max_height max_id max_keysize max_objectid max_offset
    max_reasm_len max_response_len max_rfer max_sig_size max_time max_transid max_tx_rate max_type max_width mc_all
    mc_loop mcast_bytes mcast_packets mem_end mem_start mem_unit memory_size metadata_uuid mfcs_bytes mfcs_packets
    mfcs_wrong_if min_height min_keysize min_objectid min_offset min_time min_transid min_tx_rate min_type min_width
    mld_leaves mld_parse_errors mld_v1queries mld_v1reports mld_v2queries mld_v2reports mmap_data mq_curmsgs mq_flags
    mq_maxmsg mq_msgsize mr_address mr_alen mr_ifindex mr_type msg_control msg_controllen msg_ctime msg_flags msg_hdr
    msg_iov msg_iovlen msg_iter msg_lrpid msg_lspid msg_name msg_namelen msg_perm msg_qbytes msg_qnum msg_rtime
    msg_status msg_stime mtd_num mx_sb_len mxcr_mask my_gid n_alarm n_ext_ts n_per_out n_pins n_samples ncm_family
    ndiag_cookie ndiag_dst_group ndiag_dst_portid ndiag_family ndiag_ino ndiag_portid ndiag_protocol ndiag_show
    ndiag_state ndiag_type ndm_confirmed ndm_family ndm_flags ndm_ifindex ndm_refcnt ndm_state ndm_type ndm_updated
    ndm_used ndr_block_nr ndr_block_size ndr_frame_nr ndr_frame_size ndtc_entries ndtc_entry_size ndtc_hash_chain_gc
    ndtc_hash_mask ndtc_hash_rnd ndtc_key_len ndtc_last_flush ndtc_last_rand ndtc_proxy_qlen ndtm_family ndts_allocs
    ndts_destroys ndts_forced_gc_runs ndts_hash_grows ndts_hits ndts_lookups ndts_periodic_gc_runs ndts_rcv_probes_mcast
    ndts_rcv_probes_ucast ndts_res_failed ndts_table_fulls netns_dev netns_ino never_tstp new_prog_fd newfd_flags
    next_event next_id next_key nfc_protocol nfgen_family nh_family nh_protocol nh_scope nl_groups nl_pad nl_pid nla_len
    nla_type nlmsg_flags nlmsg_len nlmsg_pid nlmsg_seq nlmsg_type no_csum nr_func_info nr_items nr_jited_func_lens
    nr_jited_ksyms nr_jited_line_info nr_line_info nr_map_ids nr_of_dims nr_prog_tags nr_sqe num_attrs num_devices
    num_excl_copies num_lines num_params num_planes num_qgroups num_ref_copies num_uncorrectable_read_errors
    num_write_errors numa_node old_prog_fd open_count open_flags ops_len orig_eax orig_rax out_batch out_len pack_id
    pan_id parent_fd parent_root parent_tid pdi_copy_thresh pdi_flags pdi_index pdi_reserve pdi_tstamp pdi_version
    pdiag_cookie pdiag_family pdiag_ino pdiag_num pdiag_show pdiag_type pdmc_addr pdmc_alen pdmc_count pdmc_index
    pdmc_type pdr_block_nr pdr_block_size pdr_features pdr_frame_nr pdr_frame_size pdr_retire_tmo pdr_sizeof_priv
    peer_diagnosis peer_gid peer_rmbe_size peer_token perf_event pidfd_get_pid pixel_format plane_fmt pll_clock pll_ctrl
    pll_max pll_min pll_negmult pll_posmult pll_value precise_ip prefix_len probe_addr probe_offset
    proc_status_get_id_list prog_btf_fd prog_cnt prog_flags prog_id prog_ids prog_ifindex prog_name prog_type
    progress_1000 properties_len properties_off qfs_ino qfs_nblks qfs_nextents qgroup_inherit qs_btimelimit
    qs_bwarnlimit qs_flags qs_gquota qs_incoredqs qs_itimelimit qs_iwarnlimit qs_pquota qs_rtbtimelimit qs_uquota
    qs_version query_flags raw_tracepoint rc_channel reachable_time read_exec_only read_format recursion_misses
    recverr_rfc4884 register_op remove_on_exec replace_bpf_fd replace_state req_state request_attr request_extra
    request_len request_priority request_tag res_id ret_data ret_origin retrans_time retry_delay retval_get retval_new
    ring_addr ring_entries ring_mask rlim_cur rlim_max robust_list rsv_excl rsv_rfer rta_clntref rta_error rta_expires
    rta_id rta_lastuse rta_ts rta_tsage rta_used rtgen_family rtm_dst_len rtm_family rtm_flags rtm_protocol rtm_scope
    rtm_src_len rtm_table rtm_tos rtm_type rtnh_flags rtnh_hops rtnh_ifindex rtnh_len rtvia_addr rtvia_family ru_idrss
    ru_inblock ru_isrss ru_ixrss ru_majflt ru_maxrss ru_minflt ru_msgrcv ru_msgsnd ru_nivcsw ru_nsignals ru_nswap
    ru_nvcsw ru_oublock ru_stime ru_utime run_cnt run_time_ns rx_bpdu rx_bytes rx_compressed rx_conn_state_flags rx_cons
    rx_crc_errors rx_dropped rx_errors rx_fds rx_fifo_errors rx_frame_errors rx_length_errors rx_missed_errors
    rx_nohandler rx_noroute rx_otherhost_dropped rx_over_errors rx_packets rx_prod rx_prod_flags rx_tcn s_addr sa_data
    sa_family sa_flags sa_handler sa_mask sa_restorer salg_feat salg_mask salg_name salg_type sample_format sample_freq
    sample_id_all sample_max_stack sample_period sample_regs_intr sample_regs_user sample_stack_user samples_per_line
    sampling_rate sax25_call sax25_ndigis sb_len_wr sched_deadline sched_flags sched_nice sched_period sched_policy
    sched_priority sched_runtime sched_util_max sched_util_min scsi_id scsi_type sdiag_family sdiag_protocol
    seccomp_data seccomp_notif seccomp_notif_resp sector_count sector_number sector_start seg_32bit seg_not_present
    sem_ctime sem_flg sem_nsems sem_num sem_op sem_otime sem_perm set_tid set_tid_size sg_io_owned shm_atime shm_cpid
    shm_ctime shm_dtime shm_id shm_lpid shm_nattch shm_offs shm_perm shm_rss shm_segsz shm_swp shm_tot short_addr
    si_addr si_addr_lsb si_arch si_band si_call_addr si_code si_errno si_fd si_int si_lower si_overrun si_pid si_pkey
    si_ptr si_signo si_status si_stime si_syscall si_timerid si_uid si_upper si_utime si_value sig_data sigev_notify
    sigev_notify_attributes sigev_notify_function sigev_notify_thread_id sigev_signo sigev_value sin6_addr sin6_family
    sin6_flowinfo sin6_port sin6_scope_id sin_addr sin_family sin_port sin_zero sipx_network sipx_node sipx_port
    sipx_type sipx_zero sival_int sival_ptr size_log sll_addr sll_halen sll_hatype sll_ifindex sll_pkttype sll_protocol
    smctp_addr smctp_network smctp_tag smctp_type sndbuf_size space_slots sprintflags_ex sprintsigmask_n sprinttime_ex
    sprintxval_ex sq_entries sq_node sq_off sq_port sq_thread_cpu sq_thread_idle sqe_flags sqe_op src_fd src_length
    src_offset src_reg srcdev_name srx_service ss_flags ss_size ss_sp st_atime st_atime_nsec st_blksize st_blocks
    st_ctime st_ctime_nsec st_dev st_gid st_ino st_mode st_mtime st_mtime_nsec st_nlink st_rdev st_size st_space st_uid
    stack_pointer stack_size start_id start_lba start_level step_height step_width strong_magnitude stx_atime
    stx_attributes stx_attributes_mask stx_blksize stx_blocks stx_btime stx_ctime stx_dev_major stx_dev_minor
    stx_dio_mem_align stx_dio_offset_align stx_gid stx_ino stx_mask stx_mnt_id stx_mode stx_mtime stx_nlink
    stx_rdev_major stx_rdev_minor stx_size stx_uid sun_path super_errors supported_ops svm_cid svm_flags svm_port
    svm_reserved1 svm_zero swap_attempts swap_successes sx25_addr sxdp_flags sxdp_ifindex sxdp_queue_id
    sxdp_shared_umem_fd target_btf_id target_count target_fd target_idx target_type task_fd_query tca_family tcm_family
    tcm_handle tcm_ifindex tcm_info tcm_parent tcpm_addr tcpm_family tcpm_key tcpm_keylen tcpm_prefixlen tcpv_enabled
    tcpv_minrtt tcpv_rtt tcpv_rttcnt text_poke tgtdev_name time_avg time_max time_min time_percent time_started
    time_stopped time_total tm_hour tm_isdst tm_mday tm_min tm_mon tm_sec tm_wday tm_yday tm_year tms_cstime tms_cutime
    tms_stime tms_utime total_bytes total_spaces total_time tp_block_nr tp_block_size tp_drops tp_frame_nr tp_frame_size
    tp_freeze_q_cnt tp_packets transition_blk transition_fwd transport_len transport_status transport_type
    tree_bytes_scrubbed tree_extents_scrubbed tree_id tv_nsec tv_sec tv_usec tx_aborted_errors tx_bpdu tx_bytes
    tx_carrier_errors tx_compressed tx_conn_state_flags tx_cons tx_dropped tx_errors tx_fifo_errors tx_fin
    tx_heartbeat_errors tx_packets tx_prep tx_prod tx_prod_flags tx_sent tx_tcn tx_window_errors tz_dsttime
    tz_minuteswest ubi_num udiag_cookie udiag_family udiag_ino udiag_rqueue udiag_show udiag_state udiag_states
    udiag_type udiag_vfs_dev udiag_vfs_ino udiag_wqueue uncorrectable_errors unexpected_backtracing_error
    unverified_errors use_clockid used_bytes used_ids user_data userns_fd userspace_addr usr_data usr_oob usr_ptr
    v4l2_fourcc value_len value_size verified_insns verify_errors vid_hdr_offset vlan_proto vol_id vol_type vsi_mgr_id
    vsi_type_id vsi_type_version wakeup_events wakeup_watermark weak_magnitude wq_fd write_backward ws_col ws_row
    ws_xpixel ws_ypixel xlated_prog_insns xlated_prog_len xmm_space
"""
"""Fields of structures."""

_CONSTANTS: Final = """
    ABRT ALRM B0 B1 B1000000 B110 B115200 B1152000 B1200 B134 B150 B1500000 B1800 B19200 B2 B200 B2000000 B230400 B2400
    B2500000 B3 B300 B3000000 B3500000 B38400 B4 B4000000 B460800 B4800 B50 B500000 B57600 B576000 B600 B75 B9 B921600
    B9600 BRKINT BS0 BS1 BUS CHLD CLOCAL CONT CR0 CR1 CR2 CR3 CREAD CRTSCTS CS5 CS6 CS7 CS8 CSTOPB DELAYED E2BIG EACCES
    EADDRINUSE EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY EBADCOOKIE EBADE EBADF EBADFD EBADHANDLE EBADMSG EBADR
    EBADRQC EBADSLT EBADTYPE EBFONT EBUSY ECANCELED ECHILD ECHO ECHOCTL ECHOE ECHOK ECHOKE ECHONL ECHOPRT ECHRNG ECOMM
    ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDEADLOCK EDESTADDRREQ EDOM EDOTDOT EDQUOT EEXIST EFAULT EFBIG
    EHOSTDOWN EHOSTUNREACH EHWPOISON EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EIOCBQUEUED EISCONN EISDIR EISNAM
    EJUKEBOX EKEYEXPIRED EKEYREJECTED EKEYREVOKED EL2HLT EL2NSYNC EL3HLT EL3RST ELIBACC ELIBBAD ELIBEXEC ELIBMAX ELIBSCN
    ELNRNG ELOOP EMEDIUMTYPE EMFILE EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENAVAIL ENETDOWN ENETRESET ENETUNREACH ENFILE
    ENOANO ENOBUFS ENOCSI ENODATA ENODEV ENOENT ENOEXEC ENOKEY ENOLCK ENOLINK ENOMEDIUM ENOMEM ENOMSG ENONET ENOPKG
    ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTBLK ENOTCONN ENOTDIR ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTSUP
    ENOTSUPP ENOTSYNC ENOTTY ENOTUNIQ ENXIO EOPENSTALE EOPNOTSUPP EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPOLLERR
    EPOLLET EPOLLEXCLUSIVE EPOLLHUP EPOLLIN EPOLLMSG EPOLLNVAL EPOLLONESHOT EPOLLOUT EPOLLPRI EPOLLRDBAND EPOLLRDHUP
    EPOLLRDNORM EPOLLWAKEUP EPOLLWRBAND EPOLLWRNORM EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE ERECALLCONFLICT EREMCHG
    EREMOTE EREMOTEIO ERESTART ERESTARTNOHAND ERESTARTNOINTR ERESTARTSYS ERFKILL EROFS ESERVERFAULT ESHUTDOWN
    ESOCKTNOSUPPORT ESPIPE ESRCH ESRMNT ESTALE ESTRPIPE ETIME ETIMEDOUT ETOOMANYREFS ETOOSMALL ETXTBSY EUCLEAN EUNATCH
    EUSERS EXDEV EXFULL FALSE FASYNC FF0 FF1 FIBMAP FICLONE FICLONERANGE FIDEDUPERANGE FIFREEZE FIGETBSZ FIOASYNC
    FIOCLEX FIOGETOWN FIONBIO FIONCLEX FIONREAD FIOQSIZE FIOSETOWN FITHAW FITRIM FLUSHO FPE GETALL GETNCNT GETPID GETVAL
    GETZCNT HUP HUPCL ICANON ICRNL IEXTEN IGNBRK IGNCR IGNPAR ILL IMAXBEL INFTIM INJECTED INLCR INPCK INT IO ISIG ISTRIP
    IUCLC IUTF8 IXANY IXOFF IXON KILL NETLINK NL0 NL1 NOFLSH NS NULL OFDEL OFILL OLCUC ONLCR ONLRET ONOCR OPOST PARENB
    PARMRK PARODD PENDIN PID PIPE POLLERR POLLHUP POLLIN POLLMSG POLLNVAL POLLOUT POLLPRI POLLRDBAND POLLRDHUP
    POLLRDNORM POLLREMOVE POLLWRBAND POLLWRNORM PROF PWR QUIT RAW RTMAX RTMIN SEGV SETALL SETVAL SIGABRT SIGALRM SIGBUS
    SIGCHLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGKILL SIGPIPE SIGPROF SIGPWR SIGQUIT SIGRTMAX SIGRTMIN SIGSEGV
    SIGSTKFLT SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU
    SIGXFSZ SIOCATMARK SIOCETHTOOL SIOCGIFADDR SIOCGIFBR SIOCGIFBRDADDR SIOCGIFCONF SIOCGIFCOUNT SIOCGIFDSTADDR
    SIOCGIFENCAP SIOCGIFFLAGS SIOCGIFHWADDR SIOCGIFINDEX SIOCGIFMAP SIOCGIFMEM SIOCGIFMETRIC SIOCGIFMTU SIOCGIFNAME
    SIOCGIFNETMASK SIOCGIFPFLAGS SIOCGIFSLAVE SIOCGIFTXQLEN SIOCGIFVLAN SIOCOUTQNSD SIOCSIFADDR SIOCSIFATMTCP SIOCSIFBR
    SIOCSIFBRDADDR SIOCSIFDSTADDR SIOCSIFENCAP SIOCSIFFLAGS SIOCSIFHWADDR SIOCSIFLINK SIOCSIFMAP SIOCSIFMEM
    SIOCSIFMETRIC SIOCSIFMTU SIOCSIFNAME SIOCSIFNETMASK SIOCSIFPFLAGS SIOCSIFSLAVE SIOCSIFTXQLEN SIOCSIFVLAN STKFLT STOP
    SYS TAB0 TAB1 TAB2 TAB3 TCFLSH TCGETS TCP TCSBRK TCSETS TCSETSF TCSETSW TCXONC TERM TIOCGPGRP TIOCGPTN TIOCGWINSZ
    TIOCINQ TIOCNOTTY TIOCOUTQ TIOCSCTTY TIOCSPGRP TIOCSPTLCK TIOCSTI TIOCSWINSZ TOSTOP TRAP TRUE TSTP TTIN TTOU UDP
    UNIX URG USR1 USR2 VT0 VT1 VTALRM WCONTINUED WCOREDUMP WEXITED WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED
    WIFSTOPPED WINCH WNOHANG WNOWAIT WSTOPPED WSTOPSIG WTERMSIG WUNTRACED XCASE XCPU XFSZ
"""
"""Constants without an underscore: errors, signals with and without SIG, events, flags of terminals."""

_FAMILIES: Final = frozenset(
    """
    ADJ_ AF_ AI_ ALG_ ARCH_ ARPHRD_ AT_ AUDIT_ BPF_ BTPROTO_ BTRFS_ BUS_ CAN_ CAP_ CGROUP2_ CGROUP_ CLD_ CLOCK_ CLONE_
    CLOSE_ DN_ DT_ EFD_ EPOLL_ ERESTART_ ETH_ EXIT_ EXT2_ EXT4_ EXT_ FALLOC_ FAN_ FD_ FPE_ FSCONFIG_ FSMOUNT_ FSOPEN_
    FSPICK_ FS_ FUTEX2_ FUTEX_ FUT_ F_ GRND_ ICMP6_ ICMP_ IFA_ IFF_ IFLA_ ILL_ INET6_ INET_ INOTIFY_ IN_ IOCB_ IOC_
    IOPRIO_ IORING_ IOSQE_ IO_ IPC_ IPPROTO_ IPV6_ IP_ ITIMER_ KCMP_ KD_ KEXEC_ KEYCTL_ LANDLOCK_ LINUX_ LOCK_ MADV_
    MAP_ MCAST_ MCL_ MEMBARRIER_ MFD_ MLOCK_ MNT_ MODULE_ MOVE_ MPOL_ MPTCP_ MREMAP_ MSG_ MS_ NDA_ NETLINK_
    NETLINK_KOBJECT_UEVENT_ NETNSA_ NFNL_ NFS_ NFT_ NLA_ NLMSGERR_ NLMSG_ NLM_ NTF_ NUD_ OPEN_ OVERLAYFS_ O_ PACKET_
    PERF_ PER_ PF_ PIDFD_ PIPEFS_ PKEY_ POLL_ POSIX_ PRIO_ PROC_ PROT_ PR_ PTRACE_ P_ Q_ RENAME_ RESOLVE_ RLIM64_
    RLIMIT_ RLIM_ ROUTE_ RSEQ_ RTAX_ RTA_ RTEXT_ RTMGRP_ RTM_ RTNH_ RTN_ RTPROT_ RT_ RUSAGE_ RWF_ R_ SA_ SCHED_ SCM_
    SCTP_ SECBIT_ SECCOMP_ SEEK_ SEGV_ SEM_ SFD_ SHM_ SHUT_ SIGEV_ SIG_ SIOCGSTAMP_ SI_ SK_ SOCKFS_ SOCK_ SOL_ SO_
    SPLICE_ SS_ STATX_ STA_ ST_ SWAP_ SYNC_ SYSFS_ SYSLOG_ SYS_ S_ TCA_ TCP_ TFD_ TIMER_ TIOCM_ TIOCPKT_ TLS_ TMPFS_
    TRAP_ TREE_ UDPLITE_ UDP_ UFFDIO_ UFFD_ UIO_ UMOUNT_ UNIX_ USERFAULTFD_ UTIME_ VMADDR_ VSOCK_ WAIT_ WNO_ W_ XATTR_
    XDP_ XFRM_ XFS_ X_
    """.split()
)
"""What constants begin with of which each family has many, up to the first underscore."""

MESSAGES: Final = frozenset(
    " ".join(message.split())
    for message in """
    .lib section in a.out corrupted | Accessing a corrupted shared library | Address already in use |
    Address family not supported by protocol | Address in use | Address not available | Advertise error |
    Argument list too long | Attempting to link in too many shared libraries | Bad address | Bad file descriptor |
    Bad font file format | Bad message | Block device required | Broken pipe | Can not access a needed shared library |
    Cannot allocate memory | Cannot assign requested address | Cannot exec a shared library directly |
    Cannot send after transport endpoint shutdown | Channel number out of range | Communication error on send |
    Connection refused | Connection reset by network | Connection reset by peer | Connection timed out |
    Cross-device link | Data consistency error | Destination address required | Device not a stream |
    Device or resource busy | Device timeout | Directory not empty | Disk quota exceeded | Domain error |
    Error loading shared library | Exchange full | Exec format error | File descriptor in bad state | File exists |
    File name too long | File too large | Function not implemented | Host is down | Host is unreachable | I/O error |
    Identifier removed | Illegal byte sequence | Illegal seek | Inappropriate ioctl for device | Input/output error |
    Interrupted by signal | Interrupted system call | Interrupted system call should be restarted | Invalid argument |
    Invalid cross-device link | Invalid exchange | Invalid or incomplete multibyte or wide character |
    Invalid request code | Invalid request descriptor | Invalid slot | Is a directory | Is a named type file |
    Key has been revoked | Key has expired | Key was rejected by service | Level 2 halted | Level 2 not synchronized |
    Level 3 halted | Level 3 reset | Link has been severed | Link number out of range | Machine is not on the network |
    Message too large | Message too long | Multihop attempted | Name not unique on network |
    Network dropped connection on reset | Network is down | Network is unreachable | Network unreachable |
    No CSI structure available | No XENIX semaphores available | No anode | No buffer space available |
    No child processes | No data available | No file descriptors available | No locks available | No medium found |
    No message of desired type | No process | No route to host | No space left on device | No such device |
    No such device or address | No such file or directory | No such process | Not a XENIX named type file |
    Not a directory | Not a socket | Not a tty | Not supported | Numerical argument out of domain |
    Numerical result out of range | Object is remote | Operation already in progress | Operation canceled |
    Operation in progress | Operation not permitted | Operation not possible due to RF-kill | Operation not supported |
    Operation now in progress | Operation timed out | Out of memory | Out of streams resources | Owner died |
    Package not installed | Permission denied | Previous owner died | Protocol driver not attached | Protocol error |
    Protocol family not supported | Protocol not available | Protocol not supported | Protocol wrong type for socket |
    RFS specific error | Read-only file system | Remote I/O error | Remote address changed | Required key not available
    | Resource busy | Resource deadlock avoided | Resource deadlock would occur | Resource temporarily unavailable |
    Result not representable | Socket is connected | Socket not connected | Socket operation on non-socket |
    Socket type not supported | Software caused connection abort | Srmount error | Stale file handle |
    State not recoverable | Storage device | Streams pipe error | Structure needs cleaning | Symbolic link loop |
    Text file busy | Timer expired | To be restarted | To be restarted if SA_RESTART is set |
    To be restarted if no handler | Too many levels of symbolic links | Too many links | Too many open files |
    Too many open files in system | Too many references: cannot splice | Too many users |
    Transport endpoint is already connected | Transport endpoint is not connected | Unsupported |
    Value too large for data type | Value too large for defined data type | Wrong medium type
    """.split("|")
)
"""What errors are called by glibc and musl, and by strace where a call is to be begun again."""

WORDS: Final = frozenset((*_CALLS.split(), *_FIELDS.split(), *_CONSTANTS.split()))
_CAPITALS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def is_straces(word: str) -> bool:
    """Whether strace may have printed ``word``, a run of letters, digits and underscores, of its own."""
    if word in WORDS:
        return True
    family, underscore, _ = word.partition("_")
    return underscore == "_" and f"{family}_" in _FAMILIES and _CAPITALS.issuperset(word)
