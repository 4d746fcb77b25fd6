"""The words by which people say under what something happens; `a_b` are several words in a row."""

from __future__ import annotations

CIRCUMSTANCES = {
    "loading": """
        pretrained_weight pre_trained_weight load loaded loading reload reloaded reloading checkpoint ckpt restore
        restored restoring resume resuming resumed state_dict load_state_dict saved save saving saved_model
        load_model continue_training continuing_training pth pt_file load_from_checkpoint reloads torch_load
        from_pretrained picked_up stored_model interrupted save_pretrained safetensors warm_start
        restarting_training continue_from
    """,
    "multi": """
        two_cards multi_card multiple_cards 2_cards multi_gpu multiple_gpu multigpu ddp distributed dataparallel
        data_parallel fsdp deepspeed horovod several_gpu two_gpu 2_gpu 3_gpu 4_gpu 8_gpu many_gpu more_gpu
        single_gpu one_gpu 1_gpu torchrun rank world_size multi_node multinode node multiprocess
        distributeddataparallel multiple_device multi_process multiple_process several_process nccl gpu_each
        ddp_strategy all_reduce more_than_one_gpu both_gpu second_gpu multiple_node parallel_training four_gpu
        eight_gpu additional_gpu number_of_gpu 2x 4x 8x syncbatchnorm sync_batchnorm syncbn
    """,
    "half": """
        fp16 amp autocast mixed_precision half_precision bf16 bfloat16 float16 half gradscaler grad_scaler apex
        16_bit 16bit automatic_mixed_precision mixed tf32 reduced_precision fp8 16_mixed precision_16 torch_float16
    """,
    "batchsize": """
        batch_size batchsize bs batch_of_one batch_of_1 larger_batch bigger_batch smaller_batch large_batch
        small_batch one_by_one single_sample one_at_a_time batch_sizes batch_dimension
        number_of_samples_in_the_batch other_samples rest_of_the_batch single_image one_image batch_dependent
        other_sequences padding batch_composition same_batch individually small_batches big_batch mini_batch_size
        batch_inference how_many_samples one_sample batch_1
    """,
    "accumulation": """
        gradient_accumulation accumulate_gradient grad_accumulation accumulation_steps gradient_accumulation_steps
        accumulate_grad_batches accumulating_gradient accumulated_gradient effective_batch_size effective_batch
        grad_accum accumulate_grad iter_size accumulation accumulation_step gradients_accumulation accumulating_grad
        virtual_batch accumulated_grad accum_steps accum
    """,
    "frozen": """
        freeze frozen freezing freezed requires_grad_false require_grad_false trainable_false trainable_flag
        trainable_to_false locked fixed_backbone fixed_weights requires_grad_is_false grad_false froze non_trainable
        not_trainable freezed_layer freezed_weight untrainable
    """,
    "unfreezes": "unfreeze unfrozen unfreezing unfroze",
    "evalmode": """
        eval_mode evaluation_mode model_eval train_mode training_mode evalmode inference_mode eval_() net_eval
        validation_mode test_mode self_eval batchnorm batch_norm bn batch_normalization dropout instead_of_train
        calling_eval call_eval using_eval in_eval set_to_eval eval_vs_train train_vs_eval track_running_stats
    """,
    "run": """
        non_deterministic nondeterministic every_time_i_run each_time_i_run every_time_i_start each_time_i_train
        whenever_i_run each_training each_trial run rerun runs_differ each_run every_run reproducibility
        reproducible deterministic run_to_run different_runs two_runs same_code execution executions rerunning
        several_runs re_run every_time_i_train same_settings same_config same_script twice
    """,
    "seed": "seed seeded seeding manual_seed random_seed",
    "repeated": """
        same_input same_image same_sample same_batch same_sentence same_data same_example each_call every_call
        each_predict every_predict each_execution every_execution each_forward every_forward each_time every_time
        same_text multiple_times identical_input calling_twice two_calls same_prompt repeated_calls fixed_input
        twice consecutive many_times again again_and_again same_tensor same_weights inference_run called_twice
        several_times
        two_forward_pass two_forward two_evaluation two_identical_call two_times three_times same_picture forward_twice second_time
    """,
    "anyinput": """
        unk eos pad_token unk_token eos_token blank_image blank_images majority all_input every_input any_input
        all_sample every_sample different_input each_input all_image every_image whatever_the_input
        regardless_of_input regardless_of_the_input all_class every_class same_class same_label for_everything
        no_matter_what irrespective only_one_class a_single_class always_one_class different_image whatever_input
        any_image all_test_sample for_all independent_of_the_input all_pixel all_time_step every_test_sample
        different_sample every_prompt same_output same_prediction same_answer identical_output identical_prediction
        same_value_for same_result_for same_token same_word same_sentence same_caption same_image same_number
        input_independent same_category only_background all_background regardless_of_what same_logit
        same_probability constant_value constant_output majority_class input_is_ignored the_mean mean_value
        average_value every_row entire_batch whole_batch each_row all_row every_item all_item all_example
        every_example each_sample each_image same_score whatever_picture
    """,
    "progressive": """
        slower_and_slower ~_slower ~_slow slowing_down larger_and_larger bigger_and_bigger higher_and_higher as_epoch
        all_epoch all_the_epoch for_all_epoch for_all_the_epoch in_all_epoch in_all_the_epoch slows_down slow_down
        gets_longer longer_and_longer ~_longer slowdown
        slower_over_time each_epoch every_epoch over_time gradually after_each after_every continuously with_every
        steadily with_each each_iteration every_iteration every_step each_step increasingly over_epochs
        over_the_epochs as_training_goes_on progressively per_epoch_increase long_run epoch_by_epoch more_and_more
        with_time keep keeps constantly_grow as_training_progresses after_several_hours as_it_goes per_iteration
        than_the_previous than_the_one_before after_a_while later_epochs
    """,
    "later": """
        after_some_epoch after_a_few_epoch after_a_while eventually later after_few_epoch after_epoch
        after_several_epoch after_n_epoch after_1_epoch at_some_point then after_first_epoch after_the_first_epoch
        after_some_time after_some_iteration after_a_few_step after_some_step after_that suddenly after_many_epoch
        mid_training halfway after_a_few_iteration after_around after_about
    """,
    "paper": """
        paper reported claimed author original_implementation baseline published official state_of_the_art
        sota keras tensorflow sklearn scikit leaderboard readme tf publication benchmark xgboost reference
        original_repo original_paper original_code original_model original_result original_version
        original_one
        original_author than_the_original than_original from_the_original caffe jax model_zoo in_the_repo flax
        matlab tutorial lightgbm
    """,
    "sudden": "suddenly sudden abrupt abruptly all_of_a_sudden",
    "progress_stopped": "stops stop stopped cease ceases no_longer anymore any_more any_longer",
    "between": """
        epoch_start each_epoch_start every_epoch_start epoch_starts_with epoch_begins_with slow_start between_epoch
        beginning_of_each_epoch start_of_each_epoch start_of_every_epoch beginning_of_every_epoch end_of_epoch
        each_epoch_begins
        every_epoch_begins new_epoch_starts new_epoch_begins new_epoch
    """,
    "mismatch": """
        same_device found_at_least_two_devices different_devices expected_all_tensors different_device two_devices
    """,
    "single": """
        single one few few_samples tiny_dataset small_subset one_batch single_batch one_example toy toy_dataset
        handful
    """,
}
"""Under what it happens."""
